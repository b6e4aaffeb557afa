package files

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/flow"
	"weir/web/internal/webtest"
)

// tree makes a directory with these files and contents. A name that ends in a slash is a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		write(t, dir, name, files[name])
	}
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(full, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serve runs a file server as a chain, and returns its address.
func serve(t testing.TB, cfg Config) string { return serveBy(t, cfg, flow.Chain) }

func serveBy(t testing.TB, cfg Config, way flow.Way) string {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.(io.Closer).Close() })
	return webtest.Serve(t, way, f)
}

// ask sends a request with exactly this target.
func ask(t testing.TB, url, method, target string, fields ...string) (*http.Response, string) {
	t.Helper()
	return webtest.Raw(t, url, method+" "+target+" HTTP/1.1", fields...)
}

func get(t testing.TB, url, target string, fields ...string) (*http.Response, string) {
	t.Helper()
	return ask(t, url, "GET", target, fields...)
}

var site = map[string]string{
	"index.html": "<p>home", "page.html": "<p>page", "a b.txt": "space", "sub/index.html": "<p>sub", "empty/": "", "list/a.css": "a{}",
	"list/b/": "", ".secret": "no", "list/.hidden": "no", ".well-known/x": "yes", "UPPER.HTML": "up", "no-extension": "\x89PNG", "404.html": "<p>lost",
	"nothing.txt": "", "ü.txt": "uml", "odd:name.txt": "colon",
}

func TestFiles(t *testing.T) {
	dir := tree(t, site)
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		for _, cache := range []string{"", "0"} {
			s := serveBy(t, Config{Dir: dir, Cache: cache}, way)
			for _, c := range []struct {
				target string
				status int
				kind   string
				body   string
			}{
				{"/", 200, "text/html; charset=utf-8", "<p>home"},
				{"/index.html", 200, "text/html; charset=utf-8", "<p>home"},
				{"/page.html", 200, "text/html; charset=utf-8", "<p>page"},
				{"/page.html?query", 200, "text/html; charset=utf-8", "<p>page"},
				{"/a%20b.txt", 200, "text/plain; charset=utf-8", "space"},
				{"/%C3%BC.txt", 200, "text/plain; charset=utf-8", "uml"},
				{"/odd:name.txt", 200, "text/plain; charset=utf-8", "colon"},
				{"/sub/", 200, "text/html; charset=utf-8", "<p>sub"},
				{"//sub//index.html", 200, "text/html; charset=utf-8", "<p>sub"},
				{"/./sub/./", 200, "text/html; charset=utf-8", "<p>sub"},
				{"/list/../%73ub/index.html", 200, "text/html; charset=utf-8", "<p>sub"},
				{"/sub%2Findex.html", 400, "text/plain; charset=utf-8", "400 Bad Request: the path has an encoded slash (%2F)\n"},
				{"/UPPER.HTML", 200, "text/html; charset=utf-8", "up"},
				{"/no-extension", 200, "application/octet-stream", "\x89PNG"},
				{"/nothing.txt", 200, "text/plain; charset=utf-8", ""},
				{"/.well-known/x", 200, "application/octet-stream", "yes"},
				{"/list/a.css", 200, "text/css; charset=utf-8", "a{}"},
				{"/none", 404, "text/plain; charset=utf-8", "404 Not Found\n"},
				{"/none/", 404, "text/plain; charset=utf-8", "404 Not Found\n"},
				{"/empty/", 404, "text/plain; charset=utf-8", "404 Not Found\n"},
				{"/page.html/", 404, "text/plain; charset=utf-8", "404 Not Found\n"},
				{"/page.html/x", 404, "text/plain; charset=utf-8", "404 Not Found\n"},
				{"/" + strings.Repeat("x", 5000), 404, "text/plain; charset=utf-8", "404 Not Found\n"},
			} {
				for range 2 { // the second time from memory
					resp, body := get(t, s, c.target)
					if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.kind || body != c.body {
						t.Errorf("%s, cache %q: GET %s: %d %q %q, want %d %q %q", way, cache, c.target,
							resp.StatusCode, resp.Header.Get("Content-Type"), body, c.status, c.kind, c.body)
					}
					if tagged := resp.Header.Get("Etag") != ""; tagged != (c.status == 200) {
						t.Errorf("%s, cache %q: GET %s: got tag %q, want a tag only with 200", way, cache, c.target, resp.Header.Get("Etag"))
					}
				}
				resp, body := ask(t, s, "HEAD", c.target)
				if resp.StatusCode != c.status || body != "" || c.status == 200 && resp.ContentLength != int64(len(c.body)) {
					t.Errorf("HEAD %s: got %d, length %d, body %q, want the header of a GET without a body", c.target, resp.StatusCode, resp.ContentLength, body)
				}
			}
		}
	}
}
