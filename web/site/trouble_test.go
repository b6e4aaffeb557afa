package site

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/flow"
	"weir/web/components/cgi/fcgi"
	"weir/web/internal/webtest"
)

// trouble waits for an event "trouble" with a text.
func (l *lived) trouble(t *testing.T, says string) {
	t.Helper()
	var seen []Event
	deadline := time.After(webtest.WaitTimeout)
	for {
		select {
		case e := <-l.events:
			if e.Type == "trouble" && strings.Contains(e.Text, says) {
				return
			}
			seen = append(seen, e)
		case <-deadline:
			t.Fatalf("got the events %+v within %v, want trouble with %q", seen, webtest.WaitTimeout, says)
		}
	}
}

func TestAFullDiskBelowTheLogReachesTheOperator(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	l := live(t, "", "log {\n file = \"/dev/full\"\n flush = \"0s\"\n}\ntext { text = \"x\" }")
	for range 20 {
		l.status(t, "/")
	}
	l.trouble(t, "no space left on device")
	n := 0
	for len(l.events) > 0 {
		if e := <-l.events; e.Type == "trouble" {
			n++
		}
	}
	if n > 0 {
		t.Errorf("the same fault was reported %d more times, want once in %v", n, repeatAfter)
	}
}

func TestTheReasonOfA502ReachesTheOperator(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		l := live(t, way, `proxy { upstreams = ["http://127.0.0.1:1"] }`)
		if got := l.status(t, "/some/page"); got != 502 {
			t.Errorf("got %d, want 502", got)
		}
		l.trouble(t, "/some/page: answered by 502: proxy: http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused")
	})
}

func TestTruncatedUpstreamBodyReachesTheOperator(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush() // or not even the head is sent
		panic(http.ErrAbortHandler)
	}))
	defer up.Close()
	l := live(t, "", `proxy { upstreams = ["`+up.URL+`"] }`)
	c, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	l.trouble(t, ": answered by 200: proxy: "+up.URL)
}

func TestStderrOfCGIReachesTheOperator(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf 'a warning \\033[31mof it\\n' >&2\necho Content-Type: text/plain\necho\necho well\n"
	if err := os.WriteFile(filepath.Join(dir, "app"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	l := live(t, "", `cgi { dir = "`+dir+`" }`)
	if got := l.status(t, "/app"); got != 200 {
		t.Errorf("got %d, want 200", got)
	}
	l.trouble(t, "cgi says: a warning \uFFFD[31mof it")
}

func TestStderrOfFastCGIReachesTheOperator(t *testing.T) {
	app, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1) // from the application -> to the test, one
	go func() {
		c, err := app.Accept()
		if err == nil {
			b := fcgi.AppendRecord(nil, fcgi.Stderr, 1, []byte("PHP Warning: of it\n"))
			b = fcgi.AppendRecord(b, fcgi.Stdout, 1, []byte("Content-Type: text/plain\r\n\r\nwell"))
			_, err = c.Write(fcgi.AppendRecord(b, fcgi.EndRequest, 1, make([]byte, 8)))
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
		ended <- err
	}()
	l := live(t, "", `fastcgi { address = "`+app.Addr().String()+`" }`)
	if got := l.status(t, "/app"); got != 200 {
		t.Errorf("got %d, want 200", got)
	}
	l.trouble(t, "fastcgi "+app.Addr().String()+" says: PHP Warning: of it")
	app.Close()
	if err := <-ended; err != nil {
		t.Errorf("the application ended with %v, want nil", err)
	}
}

func TestInvalidUsersFileReachesTheOperator(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := live(t, "", "authenticate { users = \""+users+"\" }\ntext { text = \"in\" }")
	if err := os.WriteFile(users, []byte("ann:sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "it is looked at again", func() bool {
		l.status(t, "/", "Authorization", "Basic YW5uOnNlc2FtZQ==")
		return len(l.events) > 0
	})
	l.trouble(t, "not a bcrypt hash")
}

func TestBlockedReportDoesNotBlockRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.hcl")
	if err := os.WriteFile(file, []byte(`proxy { upstreams = ["http://127.0.0.1:1"] }`), 0o644); err != nil {
		t.Fatal(err)
	}
	takes := make(chan struct{})      // closed by the test: the terminal accepts lines from then on
	panics := make(chan string, 1000) // from the site -> to the test
	l, err := NewLive(file, "", func(e Event) {
		<-takes
		if e.Type == "panic" {
			panics <- e.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(l)
	defer s.Close()
	for range 3 {
		if resp, _ := webtest.Get(t, s.URL); resp.StatusCode != 502 {
			t.Errorf("got %d, want 502", resp.StatusCode)
		}
		l.onPanic("", "stage", "on purpose", []byte("where\n"))
	}
	close(takes)
	l.Close()
	if first, last := <-panics, <-panics; first != "component stage panicked: on purpose\nwhere" || last != first+" (and 1 more like this)" {
		t.Errorf("of three panics got %q and %q, want the first, the last, and the number in between", first, last)
	}
}

// Behind a load balancer that is not in trusted, all users share one limit: the operator must see
// why requests are rejected.
func TestClientOverItsShareReachesTheOperator(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app"), []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for of, text := range map[string]string{
		"limit_concurrency": "limit_concurrency { max = 2 }\nwatch { dir = \"" + dir + "\" }",
		"watch":             "watch {\n dir = \"" + dir + "\"\n max_open = 2\n}",
		"cgi":               "cgi {\n dir = \"" + dir + "\"\n max_running = 2\n}",
	} {
		l := live(t, "", text)
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for range 2 { // one of them is admitted
			clients.Go(func() {
				r := httptest.NewRequestWithContext(ctx, "GET", "/app", nil)
				r.RemoteAddr = "192.0.2.1:1"
				l.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		l.trouble(t, of+": 192.0.2.1/32 has 1 of 2 places")
		cancel()
		clients.Wait()
	}
}
