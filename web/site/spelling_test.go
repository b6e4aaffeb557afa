package site

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/flow"
	"weir/internal/testsize"
)

// TestNoSpellingOfAProtectedNameIsServedWithoutCredentials draws random sites that protect a folder
// or a host. It requests protected targets in spellings that some program takes for the same, or
// nearly the same. WEIR_WEB_SPELLINGS sets the number of sites.
func TestNoSpellingOfAProtectedNameIsServedWithoutCredentials(t *testing.T) {
	const sites = 100 // rapid's default number of checks
	each := max(1, testsize.Of(t, "WEIR_WEB_SPELLINGS", 2000)/sites)
	w := newWorld(t)
	statuses := map[int]int{}
	rapid.Check(t, func(r *rapid.T) {
		s := drawSite(r, w)
		w.guarded.Store(&s.guarded)
		err := w.run(s.text, s.way, func() {
			s.control(r, w)
			for range each {
				a := s.ask(r, w, s.spell(r))
				statuses[a.status]++
			}
		})
		if err != nil {
			r.Fatal(err)
		}
	})
	t.Logf("answers by status: %v", statuses)
}

// protectedSite is a site that protects a folder or a host.
type protectedSite struct {
	guarded
	source string // the kind of component that answers
	way    flow.Way
	text   string
}

// drawSite draws a site.
func drawSite(r *rapid.T, w *world) *protectedSite {
	s := &protectedSite{
		source: rapid.SampledFrom([]string{"files", "files", "files with a page", "files before a proxy", "proxy", "proxy", "proxy", "raw proxy", "raw proxy", "fastcgi", "fastcgi", "cgi"}).Draw(r, "source"),
		way:    rapid.SampledFrom([]flow.Way{flow.Chain, flow.Network}).Draw(r, "way"),
	}
	s.folder = rapid.SampledFrom([]string{"/private", "/a/private", "/a b/ä", "/x.y/.z;w", "/p(1)"}).Draw(r, "folder")
	if !strings.HasPrefix(s.source, "files") { // files are the same for every host
		switch rapid.IntRange(0, 3).Draw(r, "guarded") {
		case 0:
			s.folder, s.host = "", "admin.example.org"
		case 1:
			s.host = "admin.example.org"
		}
	}
	s.text = s.compose(r, w)
	return s
}

// compose returns the text of the site file.
func (s *protectedSite) compose(r *rapid.T, w *world) string {
	source := s.block(r, w)
	guard := fmt.Sprintf("authenticate { users = %q }\n", w.users)
	if rapid.Bool().Draw(r, "arms") {
		guard = fmt.Sprintf("authenticate {\n users = %q\n allowed {\n%s}\n refused {\n status { code = 401 }\n}\n}\n", w.users, source)
	} else {
		guard += source
	}
	host := s.host
	if rapid.Bool().Draw(r, "capitals") {
		host = strings.ToUpper(host)
	}
	pattern := host + escapePattern(s.folder)
	var text string
	shapes := []string{"routes", "when", "nested"}
	if s.folder == "" { // the other route of a nested site would be open on the protected host, too
		shapes = shapes[:2]
	}
	switch rapid.SampledFrom(shapes).Draw(r, "shape") {
	case "routes":
		text = s.routes(r, pattern, guard, source)
	case "nested":
		text = fmt.Sprintf("route \"/\" {\n%s}\nroute \"/other/\" {\n%s}\n", s.routes(r, pattern, guard, source), source)
	case "when":
		conditions := ""
		if s.folder != "" {
			conditions += fmt.Sprintf("path = %q\n", s.folder+"/**")
		}
		if s.host != "" {
			conditions += fmt.Sprintf("host = %q\n", host)
		}
		text = fmt.Sprintf("when {\n%s authenticate { users = %q }\n}\n%s", conditions, w.users, source)
	}
	if rapid.Bool().Draw(r, "cached") {
		text = "cache {\n" + text + "}\n"
	}
	return text
}

// routes protects a folder and leaves the rest open. The name of the folder without the slash has a
// route of its own, or is redirected.
func (s *protectedSite) routes(r *rapid.T, pattern, guard, source string) string {
	text := fmt.Sprintf("route \"/\" {\n%s}\nroute %q {\n%s}\n", source, pattern+"/", guard)
	if s.folder != "" && rapid.Bool().Draw(r, "two routes") {
		text += fmt.Sprintf("route %q {\n%s}\n", pattern, guard)
	}
	return text
}

// escapePattern escapes characters with a meaning in route patterns.
func escapePattern(path string) string { return strings.ReplaceAll(path, " ", "%20") }

// block returns the source of a site.
func (s *protectedSite) block(r *rapid.T, w *world) string {
	switch s.source {
	case "files", "files with a page", "files before a proxy":
		dir := filepath.Join(w.dir, "www"+strings.ReplaceAll(s.folder, "/", "_"))
		if err := plant(dir, s.folder); err != nil {
			r.Fatal(err)
		}
		behind, fallback := "", ""
		switch s.source {
		case "files with a page":
			fallback = "/index.html"
		case "files before a proxy":
			fallback, behind = "next", fmt.Sprintf("proxy { upstreams = [%q] }\n", w.upstream)
		}
		return fmt.Sprintf("files {\n dir = %q\n dotfiles = true\n list = true\n fallback = %q\n}\n", dir, fallback) + behind
	case "proxy":
		return fmt.Sprintf("proxy { upstreams = [%q] }\n", w.upstream)
	case "raw proxy":
		return fmt.Sprintf("proxy {\n upstreams = [%q]\n raw_path = true\n}\n", w.upstream)
	case "fastcgi":
		return fmt.Sprintf("fastcgi { address = %q }\n", w.fastcgi)
	}
	return fmt.Sprintf("cgi {\n program = %q\n env = { FOLDER = %q, HOST = %q }\n}\n", w.program, s.folder, s.host)
}

// plant creates a folder to serve, with secrets in its protected folder.
func plant(dir, folder string) error {
	for name, text := range map[string]string{"index.html": "public", folder + "/plans.txt": secret, folder + "/index.html": secret, folder + "/deep/x.html": secret} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// plainTarget returns the usual spelling of a protected target.
func (s *protectedSite) plainTarget(r *rapid.T) string {
	return s.folder + rapid.SampledFrom([]string{"/plans.txt", "/deep/x.html", "/", ""}).Draw(r, "resource")
}

func (s *protectedSite) plainHost() string {
	if s.host == "" {
		return "example.org"
	}
	return s.host
}

// control requests a protected target in its usual spelling: it is served with credentials only.
func (s *protectedSite) control(r *rapid.T, w *world) {
	ask := spelled{method: "GET", host: s.plainHost(), target: encode(s.folder + "/plans.txt"), credentials: "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:sesame"))}
	for _, c := range []asker{&w.h1, &w.h2} {
		a, err := c.ask(ask)
		if err != nil || a.status != 200 || !strings.Contains(a.body, secret) {
			r.Fatalf("%T: with credentials: got %d %q, %v, want the secret; of %+v by\n%s", c, a.status, a.body, err, ask, s.text)
		}
	}
	ask.credentials = ""
	for _, c := range []asker{&w.h1, &w.h2} {
		if a, err := c.ask(ask); err != nil || a.status != 401 || strings.Contains(a.body, secret) {
			r.Fatalf("%T: without credentials: got %d %q, %v, want 401; of %+v by\n%s", c, a.status, a.body, err, ask, s.text)
		}
	}
}

// asker sends a request as spelled.
type asker interface {
	ask(spelled) (answered, error)
}

// ask sends a request without credentials and checks that the response has no secret.
func (s *protectedSite) ask(r *rapid.T, w *world, ask spelled) answered {
	c := asker(&w.h1)
	if rapid.Bool().Draw(r, "HTTP/2") {
		c = &w.h2
	}
	a, err := c.ask(ask)
	switch {
	case err != nil:
		r.Fatalf("%T: %+v: %v", c, ask, err)
	case strings.Contains(a.body, secret):
		r.Errorf("%T: %+v is served without credentials, by %s of\n%s", c, ask, s.way, s.text)
	}
	return a
}

// encode escapes a path as clients do.
func encode(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// dotParams matches dots with parameters, which some programs take for a dot segment.
var dotParams = regexp.MustCompile(`(/\.\.?);[^/]*`)

// params matches parameters of path segments, as servlets have them.
var params = regexp.MustCompile(`;[^/]*`)
