package conn

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"weir/web/http1"
)

// serving runs net/http over connections of this package, and gives its address.
func serving(t *testing.T, h http.HandlerFunc) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatch(Rules{})
	s := &http.Server{Handler: h, ConnContext: NewContext}
	ended := make(chan error, 1) // from Serve to Cleanup, one
	go func() { ended <- s.Serve(watched{l, w}) }()
	t.Cleanup(func() { s.Close(); <-ended; w.CloseAll() })
	return l.Addr().String()
}

type watched struct {
	net.Listener
	w *Watch
}

func (l watched) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.w.Line(c, nil).Plain(), nil
}

func TestAHandlerSeesItsClientLeave(t *testing.T) {
	entered, left := make(chan struct{}), make(chan error, 1) // closed by the handler; one from it
	addr := serving(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		left <- context.Cause(r.Context())
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	c.Close()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the request ended with %v, want %v", err, context.Canceled)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the handler did not learn that its client left")
	}
}

// Every second answer takes longer than a read is put off, so that both kinds of calling it back
// follow each other on one connection.
func TestRequestsFollowEachOtherWhateverAnAnswerTakes(t *testing.T) {
	addr := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(detectionDelay + 20*time.Millisecond)
		}
		io.WriteString(w, r.URL.Path)
	})
	var client http.Client
	defer client.CloseIdleConnections()
	for range 4 {
		for _, path := range []string{"/fast", "/slow"} {
			resp, err := client.Get("http://" + addr + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != path {
				t.Fatalf("%s: %q, %v", path, body, err)
			}
		}
	}
}

func TestADeadlineEndsReads(t *testing.T) {
	past := func(c *Conn) { c.SetReadDeadline(abort) }
	for _, test := range []struct {
		says   string
		set    func(*Conn)
		before bool // the deadline is there when the read begins
		size   int  // 1 byte is what net/http listens by, 0 one when the request was refused
	}{
		{"a byte listened for, called back before", past, true, 1},
		{"a byte listened for, called back while put off", past, false, 1},
		{"a byte listened for, called back while it is read", func(c *Conn) { time.Sleep(2 * detectionDelay); past(c) }, false, 1},
		{"a byte listened for, some other deadline", func(c *Conn) { c.SetReadDeadline(time.Now().Add(time.Millisecond)) }, false, 1},
		{"a read, before", past, true, 100},
		{"a read, while it waits", past, false, 100},
		{"a read, some other deadline", func(c *Conn) { c.SetReadDeadline(time.Now().Add(time.Millisecond)) }, false, 100},
		{"the bytes behind a refusal, while they are awaited", past, false, 0},
	} {
		t.Run(test.says, func(t *testing.T) {
			line, client := pair(t, NewWatch(Rules{}))
			c := line.Plain()
			if test.before {
				test.set(c)
			}
			if test.size == 0 {
				test.size = 1
				c.violation.Store(&http1.Violation{})
			}
			got := make(chan error, 1) // from the read, one
			go func() {
				_, err := c.Read(make([]byte, test.size))
				got <- err
			}()
			if !test.before {
				eventually(t, "that the read waits", func() bool {
					c.detection.mu.Lock()
					defer c.detection.mu.Unlock()
					return c.detection.waiting != nil || c.detection.reading
				})
				test.set(c)
			}
			select {
			case err := <-got:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("the read ended with %v, want %v", err, os.ErrDeadlineExceeded)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the read did not end")
			}
			if c.violation.Load() != nil {
				return
			}
			c.SetReadDeadline(time.Time{})
			io.WriteString(client, "x")
			if n, err := c.Read(make([]byte, test.size)); n != 1 || err != nil {
				t.Errorf("with the deadline taken back: %d bytes, %v", n, err)
			}
		})
	}
}
