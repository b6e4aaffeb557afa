package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// served has a request answered by a composition, each way, and gives what a log that stands before
// it has written.
func served(t *testing.T, format string, c web.Component, request func(*http.Request), check func(t *testing.T, log string)) {
	t.Helper()
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		var out bytes.Buffer
		l, err := New(Config{Format: format, Writer: &out})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // the exchange is over
			if err := errors.Join(l.Close(), l.Close()); err != nil {
				t.Fatal(err)
			}
			check(t, out.String())
		})
		over := make(chan struct{}, 1) // from the exchange's end, the log's line included
		first := web.Pipe(func(c *web.Conn) { c.After(func(*web.Conn) { over <- struct{}{} }) })
		r, err := http.NewRequest("GET", webtest.Serve(t, way, web.Chain(first, l, c))+"/a?b=c", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", `curl "8"`)
		r.Header.Set("Referer", "http://example.org/")
		r.Host = "example.org"
		request(r)
		if resp, err := webtest.Client(t).Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		<-over // the server does not wait for a connection that was taken over
	})
}

func text(s string) web.Component {
	return web.Source(func(*web.Conn) web.Body { return web.String(s) })
}

func named(c web.Component) web.Component {
	return web.Chain(web.Pipe(func(c *web.Conn) {
		c.SetValue(web.User, "Ann B")
		c.SetValue(web.RequestID, "r1")
		c.SetValue(web.Upstream, "127.0.0.1:1")
	}), c)
}

func TestLinesHaveTheConfiguredFormat(t *testing.T) {
	const when = `127\.0\.0\.1 - (-|Ann\\x20B) \[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] `
	panics := web.Pipe(func(*web.Conn) { panic("no") })
	for _, c := range []struct {
		about, format string
		server        web.Component
		method        string
		want          string
	}{
		{"common", "common", text("hello"), "GET", when + `"GET /a\?b=c HTTP/1\.1" 200 5\n`},
		{"combined", "combined", named(text("hello")), "GET", when + `"GET /a\?b=c HTTP/1\.1" 200 5 "http://example\.org/" "curl \\"8\\""\n`},
		{"combined is what there is without a word", "", text("hello"), "GET", when + `"GET .*" 200 5 "http://example\.org/" "curl \\"8\\""\n`},
		{"no body", "common", text("hello"), "HEAD", when + `"HEAD /a\?b=c HTTP/1\.1" 200 -\n`},
		{"no answer", "common", web.Pipe(func(*web.Conn) {}), "GET", when + `"GET .*" 404 14\n`},
		{"an exchange that is lost", "common", panics, "GET", when + `"GET .*" 500 26\n`},
	} {
		t.Run(c.about, func(t *testing.T) {
			served(t, c.format, c.server, func(r *http.Request) { r.Method = c.method }, func(t *testing.T, log string) {
				if !regexp.MustCompile("^" + c.want + "$").MatchString(log) {
					t.Errorf("got %q, want %s", log, c.want)
				}
			})
		})
	}
}

func TestJSONLineHasEveryField(t *testing.T) {
	breaks := web.Source(func(c *web.Conn) web.Body {
		return web.Stream(-1, func(w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return errors.New(`it "broke"`)
		})
	})
	served(t, "json", named(breaks), func(*http.Request) {}, func(t *testing.T, log string) {
		var line map[string]any
		if err := json.Unmarshal([]byte(log), &line); err != nil {
			t.Fatalf("log line: got %q (%v), want a JSON object", log, err)
		}
		for name, want := range map[string]any{
			"client": "127.0.0.1", "user": "Ann B", "method": "GET", "host": "example.org", "target": "/a?b=c", "proto": "HTTP/1.1",
			"referer": "http://example.org/", "agent": `curl "8"`, "request_id": "r1", "upstream": "127.0.0.1:1", "error": `it "broke"`,
			"status": 200., "bytes": 4.,
		} {
			if line[name] != want {
				t.Errorf("%s is %v, want %v", name, line[name], want)
			}
		}
		if _, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil {
			t.Errorf("time: got %v (%v), want RFC 3339", line["time"], err)
		}
		if took, ok := line["duration_us"].(float64); !ok || took < 0 {
			t.Errorf("duration_us: got %v, want a number from 0", line["duration_us"])
		}
	})
}

func TestAConnectionThatIsTakenOver(t *testing.T) {
	up := web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("Hijack: got %v, want the connection", err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		conn.Close()
	}))
	served(t, "common", up, func(*http.Request) {}, func(t *testing.T, log string) {
		if !strings.HasSuffix(log, " 101 -\n") {
			t.Errorf("got the line %q, want status 101 and no length at its end", log)
		}
	})
}

func TestTheFileIsReopened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	l, err := New(Config{File: name, Flush: "1m"})
	if err != nil {
		t.Fatal(err)
	}
	l.add([]byte("before\n"))
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	l.add([]byte("between\n"))
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	l.add([]byte("after\n"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.add([]byte("too late\n"))
	if err := l.Reopen(); err != nil {
		t.Errorf("Reopen of a closed log: got %v, want nil", err)
	}
	for file, want := range map[string]string{name: "after\n", name + ".1": "before\nbetween\n"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: got %q %v, want %q", file, got, err, want)
		}
	}
	if l.Dropped() != 1 {
		t.Errorf("%d lines are dropped, want 1", l.Dropped())
	}
}

func TestAFileThatCannotBeReopenedStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{File: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err == nil {
		t.Error("no error, want one that says that the file is not there")
	}
	l.add([]byte("still\n"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir+"2", "log")); err != nil || string(got) != "still\n" {
		t.Errorf("the renamed file after a failed Reopen: got %q (%v), want the line written since", got, err)
	}
}

// slow is a disk that takes nothing until it is let go.
type slow struct {
	letGo   chan struct{} // closed by the test
	writing chan struct{} // from Write -> to the test; capacity 1
	bytes.Buffer
}

func (s *slow) Write(p []byte) (int, error) {
	select {
	case s.writing <- struct{}{}:
	default:
	}
	<-s.letGo
	return s.Buffer.Write(p)
}

func TestSlowDiskDoesNotBlockExchanges(t *testing.T) {
	disk := &slow{letGo: make(chan struct{}), writing: make(chan struct{}, 1)}
	l, err := New(Config{Writer: disk, Flush: "0s", Buffer: 4096})
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 99) + "\n")
	l.add(line)
	<-disk.writing // it has the first line, and keeps it
	for range 100 {
		l.add(line) // comes back at once: 40 lines find room
	}
	if l.Dropped() != 60 {
		t.Errorf("%d lines are dropped, want 60", l.Dropped())
	}
	close(disk.letGo)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := disk.Len(); got != 4100 {
		t.Errorf("%d bytes were written, want 41 lines of 100", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestFailedWritesAreReported(t *testing.T) {
	var reported []string
	l, err := New(Config{Writer: full{}, Flush: "1m", OnError: func(err error) { reported = append(reported, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	l.add([]byte("a\n"))
	l.add([]byte("b\n"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(reported) != "[accesslog: 2 lines are lost: no space left]" || l.Dropped() != 2 {
		t.Errorf("got reports %v and %d dropped, want one report and 2 lines lost", reported, l.Dropped())
	}
}

// shared is a buffer that is written and read by several.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) { s.mu.Lock(); defer s.mu.Unlock(); return s.b.Write(p) }
func (s *shared) String() string              { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

func TestLinesOfSeveralStayWhole(t *testing.T) {
	out := new(shared)
	l, err := New(Config{Writer: out, Flush: "1ms"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				l.add([]byte(strings.Repeat(string(rune('a'+i)), 50) + "\n"))
			}
		})
	}
	all.Wait()
	for end := time.Now().Add(time.Minute); strings.Count(out.String(), "\n")+int(l.Dropped()) < 8000; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: got %d lines written and %d dropped, want 8000 together", strings.Count(out.String(), "\n"), l.Dropped())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) != 51 || strings.Count(line, line[:1]) != 50 {
			t.Fatalf("got the line %q, want 50 times the same letter: lines are not mixed", line)
		}
	}
}

func TestConfigIsRefused(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{}, "file is not set"},
		{Config{File: "x", Writer: io.Discard}, "not both"},
		{Config{Writer: io.Discard, Format: "xml"}, `format is "xml"`},
		{Config{Writer: io.Discard, Buffer: 10}, "buffer is 10 bytes"},
		{Config{Writer: io.Discard, Flush: "soon"}, `flush is "soon"`},
		{Config{Writer: io.Discard, Flush: "1h"}, `flush is "1h"`},
		{Config{File: filepath.Join(t.TempDir(), "no", "log")}, "accesslog: open"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.says)
		}
	}
}
