package cgi

import (
	"fmt"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"path/filepath"
	"strings"
	"testing"

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
		return NewFastCGI(FastCGIConfig{Address: address, Dir: "testdata/php", Split: ".php", Prefix: "/p", Fallback: "/index.php"})
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
	for _, fallback := range []string{"", "/index.php"} {
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
	for fallback, says := range map[string]string{"/../index.php": "does not name", "/index.html": "does not name", "/": "does not name", "/.x/index.php": "does not name"} {
		cfg := base
		cfg.Fallback = fallback
		if g, err := NewFastCGI(cfg); err == nil || g != nil || !strings.HasPrefix(err.Error(), "fastcgi: fallback is") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", fallback, err, says)
		}
	}
	if _, err := NewFastCGI(FastCGIConfig{Address: "127.0.0.1:9000", Fallback: "/index.php"}); err == nil || !strings.Contains(err.Error(), "set split") {
		t.Errorf("without split: got %v, want an error that asks for it", err)
	}
}
