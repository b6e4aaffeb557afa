package events

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/web"
	"weir/web/components/compress"
	"weir/web/internal/webtest"
)

// reader reads a stream as a browser does (section 9.2.6 of the HTML standard).
type reader struct {
	lines *bufio.Reader
	id    string
	retry string
}

// next is the next event that a page would see.
func (r *reader) next() (name, data string, err error) {
	var buffer []string
	name = "message"
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && buffer != nil:
			return name, strings.Join(buffer, "\n"), nil
		case line == "":
			name = "message"
		case key == "": // a comment
		case key == "event":
			name = value
		case key == "data":
			buffer = append(buffer, value)
		case key == "id":
			r.id = value
		case key == "retry":
			r.retry = value
		default:
			return "", "", fmt.Errorf("got the line %q, want event, data, id or retry", line)
		}
	}
}

func TestAppendWritesTheFieldsOfAnEvent(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Data: "a"}, "data: a\n\n"},
		{Event{ID: "7", Name: "move", Data: "a\nb\r\nc\rd", Retry: 1500 * time.Millisecond}, "id: 7\nevent: move\nretry: 1500\ndata: a\ndata: b\ndata: c\ndata: d\n\n"},
		{Event{Data: "a\n"}, "data: a\ndata: \n\n"},
		{Event{Data: " a"}, "data:  a\n\n"},
		{Event{Name: "ping"}, "event: ping\ndata: \n\n"},
		{Event{ID: "7"}, "id: 7\n\n"},
		{Event{}, "\n"},
		{Event{Data: "\xff"}, "data: \uFFFD\n\n"},
	} {
		if got, err := c.e.Append(nil); err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.e, got, err, c.want)
		}
	}
	for _, e := range []Event{{ID: "a\nb"}, {ID: "a\x00"}, {Name: "a\rb"}, {Retry: -1}} {
		if got, err := e.Append(nil); err == nil || len(got) != 0 {
			t.Errorf("%+v: %q, want an error", e, got)
		}
	}
}

func roundTrip(t interface{ Errorf(string, ...any) }, e Event) {
	b, err := e.Append(nil)
	if err != nil || e.Name == "" && e.Data == "" {
		return
	}
	r := reader{lines: bufio.NewReader(strings.NewReader(string(b)))}
	name, data, err := r.next()
	valid := func(s string) string { return strings.ToValidUTF8(lineEnds.Replace(s), "\uFFFD") }
	wantName := valid(e.Name)
	if wantName == "" {
		wantName = "message"
	}
	if err != nil || name != wantName || data != validLines(e.Data) || r.id != valid(e.ID) {
		t.Errorf("%+v: got name %q, data %q, ID %q, error %v, want the event (line ends and UTF-8 corrected)", e, name, data, r.id, err)
	}
	if rest, _ := io.ReadAll(r.lines); len(rest) != 0 {
		t.Errorf("%+v: got %q after the event, want nothing: one event is one block", e, rest)
	}
}

// validLines mends each line for itself, as they are sent.
func validLines(s string) string {
	lines := strings.Split(lineEnds.Replace(s), "\n")
	for i, line := range lines {
		lines[i] = strings.ToValidUTF8(line, "\uFFFD")
	}
	return strings.Join(lines, "\n")
}

func TestEventsArriveAsTheyWereSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a: \r\n\x00é")))
		roundTrip(t, Event{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Data: text.Draw(t, "data")})
	})
}

func FuzzEvent(f *testing.F) {
	f.Add("7", "move", "a\r\nb")
	f.Add("", "", ": no comment\n\nid: 9")
	f.Add("\xff", "é", "\r\r\n\n")
	f.Fuzz(func(t *testing.T, id, name, data string) { roundTrip(t, Event{ID: id, Name: name, Data: data}) })
}

// telling is an end that says hello, and then what it is given until that is "end".
func telling(next <-chan string) func() (web.Component, error) {
	return func() (web.Component, error) {
		return SSE(SSEConfig{KeepAlive: "1ms", Retry: "2s"}, func(ctx context.Context, to *Stream) error {
			err := to.Send(Event{Name: "hello", Data: to.LastEventID()})
			for err == nil {
				text := <-next
				if text == "end" {
					return nil
				}
				err = to.Send(Event{ID: text, Data: text})
			}
			return err
		})
	}
}

// comment reads up to a comment, which keeps the connection alive.
func (r *reader) comment() error {
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil || line[0] == ':' {
			return err
		}
	}
}

// Each event arrives before the next one is made, also through a filter that compresses.
func TestStreamSendsEventsAtOnce(t *testing.T) {
	compressor, err := compress.New(compress.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, behind := range map[string][]web.Component{"plain": nil, "compressed": {zip}, "compressed by the component": {compressor}} {
		next := make(chan string)
		bothWays(t, telling(next), func(t *testing.T, url string, _ io.Closer, end <-chan webtest.ExchangeEnd) {
			r, _ := http.NewRequest("GET", url, nil)
			r.Header.Set("Last-Event-ID", "41")
			r.Header.Set("Accept-Encoding", "gzip")
			resp, err := webtest.Client(t).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if h := resp.Header; (h.Get("Content-Encoding") == "gzip") != (behind != nil) || h.Get("Content-Type") != "text/event-stream; charset=utf-8" || h.Get("Cache-Control") != "no-cache" || h.Get("X-Before") != "kept" {
				t.Errorf("%s: got fields %v, want an event stream, no-cache, gzip exactly if compressed, and X-Before", kind, h)
			}
			body := io.Reader(resp.Body)
			if resp.Header.Get("Content-Encoding") == "gzip" {
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			from := &reader{lines: bufio.NewReader(body)}
			if name, data, err := from.next(); name != "hello" || data != "41" || err != nil || from.retry != "2000" {
				t.Fatalf("got event %q with %q (%v) and retry %s, want hello with the last ID 41, and 2000", name, data, err, from.retry)
			}
			for i := range 5 {
				next <- fmt.Sprint(i)
				if _, data, err := from.next(); data != fmt.Sprint(i) || err != nil || from.id != data {
					t.Fatalf("%s: got %q with ID %q (%v), want %d for both, at once", kind, data, from.id, err, i)
				}
			}
			if err := from.comment(); err != nil {
				t.Fatal(err)
			}
			next <- "end"
			if _, _, err := from.next(); err != io.EOF {
				t.Errorf("got %v, want the end", err)
			}
			if e := <-end; e.Status != 200 || e.Err != nil {
				t.Errorf("the exchange ended with %+v, want 200 and no error", e)
			}
		}, behind...)
	}
}

func waiting() (web.Component, error) {
	return SSE(SSEConfig{MaxOpen: 1}, func(ctx context.Context, to *Stream) error {
		<-ctx.Done()
		return ctx.Err()
	})
}

func TestStreamEndsWithItsClientOrServer(t *testing.T) {
	bothWays(t, waiting, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		ctx, goAway := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		if _, err := webtest.Client(t).Do(r); err != nil {
			t.Fatal(err)
		}
		if resp, err := webtest.Client(t).Get(url); err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("the second of one: %v, %v, want 503", resp, err)
		} else {
			resp.Body.Close()
			<-end
		}
		goAway()
		if e := <-end; e.Status != 200 || e.Err != nil {
			t.Errorf("after the client disconnected: got %+v, want 200 and no error", e)
		}
		webtest.Until(t, "no client is connected", func() bool { return c.(*Streams).Open() == 0 })

		resp, err := webtest.Client(t).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := c.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
		if rest, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("got %q, %v, want a clean end", rest, err)
		}
		if e := <-end; e.Err != nil {
			t.Errorf("after Close: got %+v, want no error", e)
		}
	})
	component := func() (web.Component, error) {
		return SSE(SSEConfig{}, func(context.Context, *Stream) error { return errors.New("broken") })
	}
	bothWays(t, component, func(t *testing.T, url string, _ io.Closer, end <-chan webtest.ExchangeEnd) {
		resp, err := webtest.Client(t).Get(url)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if e := <-end; err == nil || e.Err == nil || e.Err.Error() != "broken" {
			t.Errorf("got %v, %+v, want a cut connection", err, e)
		}
	})
}

func TestStreamAcceptsOnlyGETAndHEAD(t *testing.T) {
	bothWays(t, waiting, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		resp, err := webtest.Client(t).Head(url)
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") == "" {
			t.Errorf("HEAD: got %v, error %v, want 200 with Content-Type", resp, err)
		}
		<-end
		if n := c.(*Streams).Open(); n != 0 {
			t.Errorf("after HEAD: got %d streams, want 0", n)
		}
		resp, err = webtest.Client(t).Post(url, "text/plain", strings.NewReader("a"))
		if err != nil || resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST: got %v, error %v, want 405 with Allow: GET, HEAD", resp, err)
		}
		resp.Body.Close()
		<-end
	})
}

func TestWatchReportsChangedFiles(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	component := func() (web.Component, error) { return Watch(WatchConfig{Dir: root, Interval: "1ms"}) }
	bothWays(t, component, func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd) {
		write("page.html", "a")
		resp, err := webtest.Client(t).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		from := &reader{lines: bufio.NewReader(resp.Body)}
		for line := ""; line != ": watching\n"; {
			if line, err = from.lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		change := func(want string) {
			t.Helper()
			for { // a file may be seen in the middle of being written
				name, data, err := from.next()
				if err != nil || name != "change" {
					t.Fatalf("got event %q with %q (%v), want change", name, data, err)
				}
				// perhaps with another that was not yet whole
				if slices.Contains(strings.Split(data, "\n"), want) {
					return
				}
			}
		}
		write(".hidden", "b")
		write("page.html", "longer")
		change("page.html")
		write("deep/er.css", "c")
		change("deep/er.css")
		if err := os.RemoveAll(filepath.Join(root, "deep")); err != nil {
			t.Fatal(err)
		}
		change("deep/er.css")
	})
}
