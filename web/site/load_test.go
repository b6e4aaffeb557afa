package site

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/flow"
	"weir/web"
)

// serve runs a site text as a chain and as a network.
func serveSite(t *testing.T, text string, test func(t *testing.T, get func(path string) (int, string))) {
	t.Helper()
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		s, err := Parse("site.hcl", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(s.Services[0].Pipe, web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(string(way), func(t *testing.T) {
			test(t, func(path string) (int, string) {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				return w.Code, w.Body.String()
			})
		})
		if err := errors.Join(h.Close(), s.Close()); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	}
}

func TestSiteFileMakesItsPipeline(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := `
		server { run = "network" }
		headers { request_set = { "X-Here" = "yes" } }
		route "/" {
		  files { dir = "` + folder + `" }
		}
		route "/hello" {
		  when {
		    header = "X-Here"
		    text "greeting" { text = "hello" }
		  }
		}
		route "GET /none/" {
		  status { code = 410 }
		}
	`
	serveSite(t, text, func(t *testing.T, get func(string) (int, string)) {
		for path, want := range map[string]string{"/a.txt": "a file", "/hello": "hello", "/none/x": "410 Gone\n"} {
			if code, body := get(path); body != want {
				t.Errorf("%s: got %d %q, want %q", path, code, body, want)
			}
		}
	})
}

func TestErrorsHaveTheirPosition(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"no text":                      {``, "site.hcl:1,1-1: Composition that cannot work; the composition is empty"},
		"no HCL":                       {`route "/" {`, "site.hcl:1,11-12: Unclosed configuration block"},
		"a component that is not":      {"\n  txt { text = \"x\" }", `site.hcl:2,3-6: Unknown component; There is no component "txt"; did you mean "text"?`},
		"a component that is far off":  {`nonsense {}`, `There is no component "nonsense"; weir serve components lists`},
		"an attribute that is not":     {"text {\n text = \"x\"\n txt = \"y\"\n}", `site.hcl:3,2-5: Unsupported argument`},
		"an attribute of another type": {`status { code = "many" }`, `site.hcl:1,18-22: Unsuitable value type`},
		"an attribute that is missing": {`text { }`, `Missing required argument`},
		"a value that cannot be":       {`status { code = 99 }`, `site.hcl:1,1-7: Invalid status`},
		"a component inside":           {"text {\n text = \"x\"\n status { code = 404 }\n}", "site.hcl:3,2-8: Component inside text; text has no components inside"},
		"a bare attribute":             {"listen = 80\ntext { text = \"x\" }", "site.hcl:1,1-7: Unexpected attribute"},
		"a front that is none":         {"server { trusted = [\"lb\"] }\ntext { text = \"x\" }", `site.hcl:1,1-7: Invalid server; trusted has "lb"`},
		"a limit by what all invent":   {"limit_rate {\n rate = 1\n header = \"X-Key\"\n}\ntext { text = \"x\" }", `header is "X-Key", which every client can forge`},
		"fronts of a proxy":            {"proxy {\n upstreams = [\"http://a\"]\n trusted = [\"10.0.0.1\"]\n}", `proxy: "trusted" has moved to the "server" block`},
		"an admin page for all":        {"server { admin = \":9393\" }\ntext { text = \"x\" }", `site.hcl:1,1-7: Invalid server; admin is ":9393", which other machines can reach`},
		"an admin page for a network":  {"server { admin = \"192.0.2.1:9393\" }\ntext { text = \"x\" }", `which other machines can reach`},
		"two servers":                  {"server {}\nserver {}\ntext { text = \"x\" }", "site.hcl:2,1-7: Second server"},
		"a server that cannot be":      {"server { run = \"fast\" }\ntext { text = \"x\" }", `site.hcl:1,1-7: Invalid server; run is "fast": write "chain" or "network"`},
		"a route without a pattern":    {"route {\n text { text = \"x\" }\n}", "A route has one label"},
		"a pattern twice":              {"route \"/a\" {}\nroute \"/a\" {}", `site.hcl:2,7-11: Invalid route`},
		"a component between routes":   {"route \"/a\" {}\nsecurity {}\nroute \"/b\" {}", "site.hcl:2,1-9: Component between routes"},
		"a source after a source":      {"text { text = \"x\" }\n\nstatus { code = 404 }", "site.hcl:3,1-7: Composition that cannot work; source status comes after the source text"},
		"a when without a condition":   {"when {\n text {\n text = \"x\"\n }\n}", "site.hcl:1,1-5: Invalid when; when has no condition"},
		"two arms of a kind":           {"authenticate {\n users = \"u\"\n allowed {}\n allowed {}\n}", "site.hcl:4,2-9: Second allowed"},
		"a server inside":              {"route \"/\" {\n server {}\n}", `There is no component "server" here: the "server" block stands in the file itself`},
		"a pattern before /**":         {"when {\n path = \"/a*/**\"\n security {}\n}", "a pattern before /**"},
		"blocks too deep":              {strings.Repeat("when {\n", 101), "site.hcl:101,6-7: Nested too deep"},
		"brackets too deep":            {"text {\n text = " + strings.Repeat("(", 500_000), "site.hcl:2,108-109: Nested too deep"},
		"signs too deep":               {"text {\n text = (" + strings.Repeat("!\n", 300_000), "Nested too deep"},
		"templates too deep":           {"text {\n text = " + strings.Repeat("\"${", 300_000), "Nested too deep"},
		"a text too long":              {strings.Repeat("#", MaxSize+1), "site.hcl:1,1-1: File too long"},
		"an arm that is not":           {"authenticate {\n users = \"u\"\n text { text = \"x\" }\n}", "authenticate has two blocks inside"},
		"both kinds of certificate":    {"server {\n tls {\n  cert = \"c\"\n key = \"k\"\n acme = [\"example.org\"]\n }\n}\ntext { text = \"x\" }", "tls needs either cert and key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("site.hcl", []byte(c.text), nil)
			wrong, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			var b strings.Builder
			if err := wrong.Explain(&b, 100, false); err != nil || !strings.Contains(b.String(), "Error: ") {
				t.Errorf("Explain: got %q (%v), want a text with Error:", b.String(), err)
			}
		})
	}
}

func TestNonRegularFileIsRejected(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	// nothing writes to the pipe: opening it would block
	for _, name := range []string{dir, pipe} {
		if _, err := Load(name, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

func TestComponentsInsideACache(t *testing.T) {
	text := "cache {\n memory = \"1MB\"\n static {\n  text = \"kept\"\n  headers = { \"Cache-Control\" = \"max-age=60\" }\n }\n}\nsecurity {}"
	serveSite(t, text, func(t *testing.T, get func(string) (int, string)) {
		for range 2 {
			if code, body := get("/"); code != 200 || body != "kept" {
				t.Errorf("got %d %q, want 200 and kept", code, body)
			}
		}
	})
}
