package cgi

import (
	"fmt"
	"io"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"path/filepath"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// names responds with the method, the requested target and the names of the script.
func names(w http.ResponseWriter, r *http.Request) {
	env := nethttpfcgi.ProcessEnv(r)
	// net/http/fcgi does not show PATH_INFO
	info := strings.TrimPrefix(env["PATH_TRANSLATED"], env["DOCUMENT_ROOT"])
	fmt.Fprintf(w, "%s %s script %s info %q", r.Method, r.URL.RequestURI(), env["SCRIPT_FILENAME"], info)
}

// The fallback is a front controller, as WordPress has one: it learns the requested path from
// REQUEST_URI.
func TestAPathThatNamesNoScriptGoesToTheFallback(t *testing.T) {
	root, err := filepath.Abs("testdata/php")
	if err != nil {
		t.Fatal(err)
	}
	address := application(t, "tcp", http.HandlerFunc(names))
	component := func() (web.Component, error) {
		return NewFastCGI(FastCGIConfig{Address: address, Dir: "testdata/php", Split: ".php", Prefix: "/p", Fallback: []string{"/index.php"}})
	}
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		for _, c := range []struct{ method, target, want string }{
			{"GET", "/p/2026/hello?a=b", "GET /p/2026/hello?a=b script /index.php info \"\""},
			{"POST", "/p/2026/hello/", "POST /p/2026/hello/ script /index.php info \"\""},
			{"OPTIONS", "/p/none", "OPTIONS /p/none script /index.php info \"\""},
			{"GET", "/p/none.php", "GET /p/none.php script /index.php info \"\""},
			{"GET", "/p/photo.jpg/x.php", "GET /p/photo.jpg/x.php script /index.php info \"\""},
			{"GET", "/p/x/../none//y", "GET /p/none/y script /index.php info \"\""},
			{"GET", "/p/.env", "GET /p/.env script /index.php info \"\""},
			{"GET", "/p/page.php;x", "GET /p/page.php;x script /index.php info \"\""},
			{"GET", "/p/page.php/a", "GET /p/page.php/a script /page.php info \"/a\""},
			{"GET", "/p/", "GET /p/ script /index.php info \"\""},
			{"GET", "/p/sub/", "GET /p/sub/ script /sub/index.php info \"\""},
			{"GET", "/other", "404"}, // not below the prefix
			{"GET", "/p/..%2fx", "400"},
		} {
			resp, body := webtest.Raw(t, url, c.method+" "+c.target+" HTTP/1.1")
			want := strings.Replace(c.want, "script ", "script "+root, 1)
			if got := fmt.Sprint(resp.StatusCode); len(c.want) == 3 && got != c.want || len(c.want) > 3 && body != want {
				t.Errorf("%s %s: got %s %q, want %q", c.method, c.target, got, body, want)
			}
		}
	})
}

// Relative links of the directory's page would lead elsewhere without the slash.
func TestADirectoryOfScriptsIsRedirectedToItsSlash(t *testing.T) {
	address := application(t, "tcp", http.HandlerFunc(names))
	for _, fallback := range [][]string{nil, {"/index.php"}} {
		component := func() (web.Component, error) {
			return NewFastCGI(FastCGIConfig{Address: address, Dir: "testdata/php", Split: ".php", Prefix: "/p", Fallback: fallback})
		}
		bothWays(t, component, func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				resp, _ := webtest.Raw(t, url, method+" /p/sub?a=/b HTTP/1.1")
				if resp.StatusCode != 308 || resp.Header.Get("Location") != "./sub/?a=/b" {
					t.Errorf("%s: got %d to %q, want 308, which keeps the method, to ./sub/?a=/b", method, resp.StatusCode, resp.Header.Get("Location"))
				}
			}
		})
	}
}

func TestInvalidFallbacksAreRejected(t *testing.T) {
	base := FastCGIConfig{Address: "127.0.0.1:9000", Dir: "testdata/php", Split: ".php"}
	for fallback, says := range map[string]string{"/../index.php": "does not name", "/index.html": "does not name", "/": "does not name", "/.x/index.php": "does not name",
		"{path}.html": "does not name", "{path}/index.php": "does not name another file in a folder"} {
		cfg := base
		cfg.Fallback = []string{fallback}
		if g, err := NewFastCGI(cfg); err == nil || g != nil || !strings.HasPrefix(err.Error(), "fastcgi: fallback") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", fallback, err, says)
		}
	}
	if _, err := NewFastCGI(FastCGIConfig{Address: "127.0.0.1:9000", Fallback: []string{"/index.php"}}); err == nil || !strings.Contains(err.Error(), "set split") {
		t.Errorf("without split: got %v, want an error that asks for it", err)
	}
}

func TestTheFirstScriptOfTheFallbackThatExistsAnswers(t *testing.T) {
	root, err := filepath.Abs("testdata/php")
	if err != nil {
		t.Fatal(err)
	}
	address := application(t, "tcp", http.HandlerFunc(names))
	g, err := NewFastCGI(FastCGIConfig{Address: address, Dir: "testdata/php", Split: ".php", Prefix: "/p", Fallback: []string{"{path}.php", "/none.php", "/index.php"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.(io.Closer).Close() })
	isClosed := func(path string) bool { return path == "/p/sub/index.php" }
	closed := web.WhenPath("closed", isClosed, func(c *web.Conn) bool { return isClosed(c.Path()) }, web.Source(func(c *web.Conn) web.Body { return c.StatusBody(403) }))
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		url := webtest.Serve(t, way, web.Chain(web.Branch("all", func(*web.Conn) int { return 0 }, closed), web.Branch("open", func(c *web.Conn) int {
			if c.Answered() {
				return 1
			}
			return 0
		}, g)))
		for target, want := range map[string]string{
			"/p/page":      "/page.php",
			"/p/page/":     "/index.php",
			"/p/page;x":    "/index.php",
			"/p/other":     "/index.php",
			"/p/.page":     "/index.php",
			"/p/page.php":  "/page.php",
			"/p/sub/index": "/index.php", // a rule on the path of that script decides otherwise
		} {
			resp, body := webtest.Raw(t, url, "GET "+target+" HTTP/1.1")
			if want := fmt.Sprintf("GET %s script %s info \"\"", target, root+want); resp.StatusCode != 200 || body != want {
				t.Errorf("GET %s: got %d %q, want %q", target, resp.StatusCode, body, want)
			}
		}
	})
}
