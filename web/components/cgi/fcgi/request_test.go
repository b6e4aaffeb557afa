package fcgi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/fcgi"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const testTimeout = 30 * time.Second

// listen calls f with each connection, and returns a function that dials.
func listen(t *testing.T, f func(net.Conn)) func() net.Conn {
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
			f(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

var get = []Param{{"REQUEST_METHOD", "GET"}, {"SERVER_PROTOCOL", "HTTP/1.1"}, {"REQUEST_URI", "/a?b"}, {"HTTP_HOST", "a"}}

// The application is net/http/fcgi.
func TestAgainstNetHTTP(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d %v %s", r.Method, r.URL.RequestURI(), len(body), err, fcgi.ProcessEnv(r)["MINE"])
	})
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "app.sock")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = fcgi.Serve(l, app) }()
		for _, size := range []int{0, 1, 100_000, 1_000_000} {
			conn, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			params := append([]Param{{"MINE", strings.Repeat("m", 1000)}, {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", fmt.Sprint(size)}}, get[1:]...)
			r, err := Begin(t.Context(), conn, params, bytes.NewReader(make([]byte, size)), io.Discard, testTimeout)
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(r)
			want := fmt.Sprintf("\r\n\r\nPOST /a?b %d <nil> %s", size, strings.Repeat("m", 1000))
			if err != nil || !strings.HasPrefix(string(all), "Status: 200 OK\r\n") || !strings.HasSuffix(string(all), want) || r.Exit() != 0 {
				t.Errorf("%s, %d bytes: got %.200q, %v, want the whole response", network, size, all, err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
		}
		l.Close()
		<-done
	}
}

// drain reads a request without input to its end.
func drain(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(testTimeout))
	for {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		h, err := ParseHeader(head)
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, c, int64(h.Content)+int64(h.Padding))
		if h.Type == Stdin && h.Content == 0 {
			return
		}
	}
}

func TestOutputOfAnApplication(t *testing.T) {
	out := func(s string) []byte { return AppendRecord(nil, Stdout, requestID, []byte(s)) }
	end := func(exit, status byte) []byte {
		return AppendRecord(nil, EndRequest, requestID, []byte{0, 0, 0, exit, status, 0, 0, 0})
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name         string
		says         []byte
		want, stderr string
		exit         int
		err          error // nil: the end
	}{
		{name: "an answer in parts", says: join(out("a"), out("bc"), out(""), end(0, 0)), want: "abc"},
		{name: "without an end of the stream", says: join(out("a"), end(0, 0)), want: "a"},
		{name: "an exit status", says: join(out("a"), end(3, 0)), want: "a", exit: 3},
		{name: "words aside", says: join(AppendRecord(nil, Stderr, requestID, []byte("oh ")), out("a"), AppendRecord(nil, Stderr, requestID, []byte("no")), end(0, 0)), want: "a", stderr: "oh no"},
		{name: "of another request, and unknown", says: join(AppendRecord(nil, Stdout, 9, []byte("x")), AppendRecord(nil, 11, 0, []byte("x")), AppendRecord(nil, 99, requestID, nil), out("a"), end(0, 0)), want: "a"},
		{name: "padding", says: join([]byte{1, 6, 0, 1, 0, 1, 255, 0, 'a'}, make([]byte, 255), end(0, 0)), want: "a"},
		{name: "that it is overloaded", says: end(0, 2), err: Refused{Overloaded}},
		{name: "nothing", err: io.ErrUnexpectedEOF},
		{name: "half a header", says: out("a")[:5], err: io.ErrUnexpectedEOF},
		{name: "half a record", says: out("abcdef")[:10], want: "ab", err: io.ErrUnexpectedEOF},
		{name: "no end", says: out("a"), want: "a", err: io.ErrUnexpectedEOF},
		{name: "an end that is short", says: AppendRecord(nil, EndRequest, requestID, []byte{0}), err: errShort},
		{name: "something else", says: []byte("HTTP/1.1 200 OK\r\n\r\n"), err: errVersion},
	} {
		t.Run(c.name, func(t *testing.T) {
			dial := listen(t, func(conn net.Conn) { drain(conn); _, _ = conn.Write(c.says) })
			var aside strings.Builder
			r, err := Begin(t.Context(), dial(), get, nil, &aside, testTimeout)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if string(got) != c.want || aside.String() != c.stderr || !errors.Is(err, c.err) || r.Exit() != c.exit {
				t.Errorf("got %q, aside %q, exit %d, %v; want %q, %q, %d, %v", got, aside.String(), r.Exit(), err, c.want, c.stderr, c.exit, c.err)
			}
			if n, again := r.Read(make([]byte, 1)); n != 0 || again == nil {
				t.Errorf("got %d, %v after the end, want an error", n, again)
			}
		})
	}
}

func TestSilentApplicationTimesOut(t *testing.T) {
	hold := make(chan struct{})
	dial := listen(t, func(c net.Conn) { <-hold })
	r, err := Begin(t.Context(), dial(), get, nil, io.Discard, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer close(hold)
	_, err = r.Read(make([]byte, 1))
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestSlowReaderDoesNotTimeOutTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		ended := make(chan error, 1) // from the application -> to the test, one
		go func() {
			drain(there)
			_ = there.SetDeadline(time.Time{})
			_, err := there.Write(AppendStream(nil, Stdout, requestID, make([]byte, 1<<20)))
			ended <- err
			there.Close()
		}()
		r, err := Begin(t.Context(), here, get, nil, io.Discard, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for left := 1 << 20; left > 0; {
			n, err := r.Read(make([]byte, 1<<16))
			if err != nil {
				t.Fatalf("with %d bytes left: got %v, want no timeout while only the client is slow", left, err)
			}
			left -= n
			time.Sleep(time.Hour) // the client takes it
		}
		if err := <-ended; err != nil {
			t.Errorf("the application ended with %v, want nil", err)
		}
	})
}

func TestContextEndsARequest(t *testing.T) {
	gone := make(chan struct{})
	dial := listen(t, func(c net.Conn) { drain(c); _, _ = c.Read(make([]byte, 1)); close(gone) })
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Begin(ctx, dial(), get, nil, io.Discard, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("Read after the context has ended: got no error, want one")
	}
	<-gone
}

// An incomplete input must not look complete.
func TestIncompleteInputClosesTheConnection(t *testing.T) {
	whole := make(chan bool, 1)
	dial := listen(t, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(testTimeout))
		all, _ := io.ReadAll(c)
		whole <- bytes.HasSuffix(all, AppendRecord(nil, Stdin, requestID, nil))
	})
	input, broken := io.Pipe()
	r, err := Begin(t.Context(), dial(), get, input, io.Discard, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = broken.Write([]byte("some"))
	_ = broken.CloseWithError(errors.New("gone"))
	if <-whole {
		t.Error("the application got the end of the input, want an error")
	}
}
