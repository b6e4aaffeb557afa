package cgi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/freeport"
	"weir/web"
	"weir/web/components/cgi/fcgi"
	"weir/web/internal/webtest"
)

// application runs a handler as a FastCGI application, with net/http/fcgi, and returns its address.
func application(t *testing.T, network string, h http.Handler) string {
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "app.sock")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = nethttpfcgi.Serve(l, h) }()
	t.Cleanup(func() { l.Close(); <-done })
	if network == "unix" {
		return "unix:" + address
	}
	return l.Addr().String()
}

// mirror responds with the request that it received.
func mirror(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	env := nethttpfcgi.ProcessEnv(r)
	fmt.Fprintf(w, "%s %s %d %v %s %s %s", r.Method, r.URL.RequestURI(), len(body), err, env["SCRIPT_FILENAME"], env["PATH_TRANSLATED"], r.Header.Get("Authorization")+env["MINE"])
}

func TestFastCGI(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		address := application(t, network, http.HandlerFunc(mirror))
		component := func() (web.Component, error) {
			return NewFastCGI(FastCGIConfig{Address: address, Prefix: "/app", Env: map[string]string{"MINE": "!"}})
		}
		bothWays(t, component, func(t *testing.T, url string, _ web.Component, end <-chan webtest.ExchangeEnd) {
			for _, c := range []struct{ method, path, body, want string }{
				{"GET", "/app/a%20b?c=d", "", "GET /app/a%20b?c=d 0 <nil>   a!"},
				{"POST", "/app/", "abc", "POST /app/ 3 <nil>   a!"},
				{"PUT", "/app", strings.Repeat("x", 1_000_000), "PUT /app 1000000 <nil>   a!"},
			} {
				resp, body := webtest.Do(t, c.method, url+c.path, strings.NewReader(c.body), "Authorization", "a")
				if resp.StatusCode != 200 || body != c.want || resp.Header.Get("X-Before") != "kept" {
					t.Errorf("%s %s: %d %q, want %q", c.method, c.path, resp.StatusCode, body, c.want)
				}
				if e := <-end; e.Err != nil {
					t.Errorf("%s %s: the exchange ended with %v, want no error", c.method, c.path, e.Err)
				}
			}
			if resp, _ := webtest.Get(t, url+"/other"); resp.StatusCode != 404 {
				t.Errorf("got %d, want 404", resp.StatusCode)
			}
		})
	}
}

func TestScriptIsFoundByItsPath(t *testing.T) {
	root, err := filepath.Abs("testdata/php")
	if err != nil {
		t.Fatal(err)
	}
	address := application(t, "tcp", http.HandlerFunc(mirror))
	component := func() (web.Component, error) {
		return NewFastCGI(FastCGIConfig{Address: address, Dir: "testdata/php", Split: ".php", Prefix: "/p"})
	}
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, _ <-chan webtest.ExchangeEnd) {
		for path, want := range map[string]string{
			"/p/page.php":                  "/page.php ",
			"/p/page.php/a/b":              "/page.php /a/b",
			"/p/page.php/":                 "/page.php /",
			"/p":                           "/index.php ",
			"/p/":                          "/index.php ",
			"/p/sub/":                      "/sub/index.php ",
			"/p/none.php":                  "",
			"/p/photo.jpg":                 "",
			"/p/photo.jpg/x.php":           "", // a picture is not run as a script
			"/p/photo.jpg%00.php":          "400",
			"/p/..%2f..%2fcgi/cgi.go/.php": "400",
			"/p/%2e%2e/php/page.php":       "",
			"/p/sub/../page.php":           "/page.php ",
			"/p//page.php":                 "/page.php ",
			"/p/page.php.php":              "",
		} {
			resp, body := webtest.Get(t, url+path)
			switch {
			case want == "400" && resp.StatusCode != 400, want == "" && resp.StatusCode != 404:
				t.Errorf("%s: got %d %q, want %s, or 404 for nothing", path, resp.StatusCode, body, want)
			case want != "" && want != "400":
				file, info, _ := strings.Cut(want, " ")
				if info != "" {
					info = root + info
				}
				if !strings.HasSuffix(body, " <nil> "+root+file+" "+info+" ") {
					t.Errorf("%s: got %q, want %q at its end", path, body, want)
				}
			}
		}
	})
}

// saying is an application that reads a request without a body, sends some records, and closes the
// connection.
func saying(t *testing.T, records []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for head := make([]byte, 8); ; {
				if _, err := io.ReadFull(c, head); err != nil {
					break
				}
				h, _ := fcgi.ParseHeader(head)
				_, _ = io.CopyN(io.Discard, c, int64(h.Content)+int64(h.Padding))
				if h.Type == fcgi.Stdin && h.Content == 0 {
					_, _ = c.Write(records)
					break
				}
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestInvalidOutputOfApplications(t *testing.T) {
	out := func(text string) []byte { return fcgi.AppendStream(nil, fcgi.Stdout, 1, []byte(text)) }
	end := func(exit, status byte) []byte {
		return fcgi.AppendRecord(nil, fcgi.EndRequest, 1, []byte{0, 0, 0, exit, status, 0, 0, 0})
	}
	const head = "Content-Type: text/plain\r\n\r\n"
	closed, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		says   []byte
		status int // 0: the body is incomplete
		why    string
	}{
		{"nobody there", nil, 502, "refused"},
		{"nothing", nil, 502, "ended before its header was complete"},
		{"other words", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), 502, "FastCGI version 1"},
		{"that it is overloaded", end(0, 2), 503, "overloaded"},
		{"that it is something else", end(0, 3), 502, "role of a Responder"},
		{"an error alone", append(fcgi.AppendRecord(nil, fcgi.Stderr, 1, []byte("oh no")), end(1, 0)...), 502, `its standard error ends in "oh no"`},
		{"an endless head", out(strings.Repeat("X-A: b\r\n", 10_000)), 502, "longer than max_head"},
		{"half a body", out(head + "hello"), 0, "unexpected EOF"},
		{"an exit status", append(out(head+"hello"), end(3, 0)...), 200, "exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := closed
			if c.name != "nobody there" {
				address = saying(t, c.says)
			}
			component := func() (web.Component, error) { return NewFastCGI(FastCGIConfig{Address: address}) }
			bothWays(t, component, func(t *testing.T, url string, _ web.Component, end <-chan webtest.ExchangeEnd) {
				if c.status == 0 {
					broken(t, url)
				} else if resp, _ := webtest.Get(t, url); resp.StatusCode != c.status {
					t.Errorf("got %d, want %d", resp.StatusCode, c.status)
				}
				if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), c.why) || !strings.HasPrefix(e.Err.Error(), "fastcgi: ") {
					t.Errorf("got %v, want it to say %q", e.Err, c.why)
				}
			})
		})
	}
}

func TestSilentApplicationTimesOut(t *testing.T) {
	hold := make(chan struct{})
	address := application(t, "tcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hold }))
	component := func() (web.Component, error) {
		return NewFastCGI(FastCGIConfig{Address: address, Timeout: "50ms"})
	}
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, end <-chan webtest.ExchangeEnd) {
		if resp, _ := webtest.Get(t, url); resp.StatusCode != 504 {
			t.Errorf("got %d, want 504", resp.StatusCode)
		}
		<-end
	})
	close(hold)
}

func TestApplicationThatIsSilentAfterItsHeaderTimesOut(t *testing.T) {
	hold := make(chan struct{}) // closed by the test: applications end
	address := application(t, "tcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-hold
	}))
	component := func() (web.Component, error) {
		return NewFastCGI(FastCGIConfig{Address: address, Timeout: "50ms"})
	}
	bothWays(t, component, func(t *testing.T, url string, _ web.Component, end <-chan webtest.ExchangeEnd) {
		broken(t, url)
		if e := <-end; e.Err == nil || !strings.Contains(e.Err.Error(), "timeout") {
			t.Errorf("got %+v, want the timeout", e)
		}
	})
	close(hold)
}

func TestFastCGIConfigs(t *testing.T) {
	const a = "127.0.0.1:9000"
	for _, c := range []struct {
		cfg  FastCGIConfig
		says string
	}{
		{FastCGIConfig{}, "address"},
		{FastCGIConfig{Address: "localhost"}, "address"},
		{FastCGIConfig{Address: a, Split: ".php"}, "dir"},
		{FastCGIConfig{Address: a, Dir: "testdata/none"}, "dir"},
		{FastCGIConfig{Address: a, Dir: "testdata", Split: "php"}, "split"},
		{FastCGIConfig{Address: a, Prefix: "a"}, "prefix"},
		{FastCGIConfig{Address: a, Timeout: "0s"}, "timeout"},
		{FastCGIConfig{Address: a, DialTimeout: "x"}, "dial_timeout"},
		{FastCGIConfig{Address: a, Queue: -1}, "queue"},
	} {
		if g, err := NewFastCGI(c.cfg); err == nil || g != nil || !strings.HasPrefix(err.Error(), "fastcgi: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want an error about %q", c.cfg, err, c.says)
		}
	}
}
