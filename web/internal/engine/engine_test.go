package engine

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const get = "GET /page HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\r\n"

// reusing is a handler that keeps nothing, unless it calls Detach.
type reusing struct{ http.HandlerFunc }

func (reusing) ReusesExchanges() bool { return true }

// repeater is a connection whose client sends a request a number of times, one for each Read.
type repeater struct {
	net.Conn // nil: the engine calls no other method
	request  string
	left     int
	written  strings.Builder // unless quiet
	quiet    bool
}

func (r *repeater) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	return copy(p, r.request), nil
}

func (r *repeater) Write(p []byte) (int, error) {
	if !r.quiet {
		r.written.Write(p)
	}
	return len(p), nil
}

func (*repeater) SetReadDeadline(time.Time) error  { return nil }
func (*repeater) SetWriteDeadline(time.Time) error { return nil }
func (*repeater) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// serveRepeated serves a request n times on one connection, and returns the responses.
func serveRepeated(h http.Handler, request string, n int) string {
	c := &repeater{request: request, left: n}
	New(Config{Handler: h}).ServeConn(c, nil, nil)
	return c.written.String()
}

func TestAnEqualHeadGivesTheSameRequest(t *testing.T) {
	var seen []*http.Request
	serveRepeated(reusing{func(w http.ResponseWriter, r *http.Request) { seen = append(seen, r) }}, get+get+get, 1)
	if len(seen) != 3 || seen[0] != seen[1] || seen[1] != seen[2] {
		t.Errorf("got the requests %p, want one value three times: the handler keeps none", seen)
	}
}

// TestOtherHandlersGetValuesOfTheirOwn: a handler that is no Reuser, or that detaches the exchange,
// may keep what it was given, and what it does with it later has no effect.
func TestOtherHandlersGetValuesOfTheirOwn(t *testing.T) {
	for name, detach := range map[string]bool{"no Reuser": false, "detached": true} {
		var requests []*http.Request
		var headers []http.Header
		var late http.ResponseWriter
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if detach {
				w.(interface{ Detach() }).Detach()
			}
			if late != nil {
				late.Header().Set("Late", "1")
				if _, err := late.Write([]byte("late")); !errors.Is(err, errOver) {
					t.Errorf("%s: a late write: got error %v, want %v", name, err, errOver)
				}
			}
			late, requests, headers = w, append(requests, r), append(headers, w.Header())
			r.Header.Set("Changed", "1")
			io.WriteString(w, "answer")
		})
		handler := http.Handler(h)
		if detach {
			handler = reusing{h}
		}
		got := serveRepeated(handler, get, 2)
		if requests[0] == requests[1] || requests[0].Context() == requests[1].Context() || strings.Contains(got, "late") {
			t.Errorf("%s: got one request for both, or output of the first in the second:\n%s", name, got)
		}
		if headers[1].Get("Late") != "" {
			t.Errorf("%s: got one response header for both exchanges, want two", name)
		}
	}
}

func TestABodyCannotBeReadAfterItsHandlerHasReturned(t *testing.T) {
	var kept io.ReadCloser
	var err error
	serveRepeated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kept != nil {
			_, err = kept.Read(make([]byte, 9))
		}
		kept = r.Body
	}), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 2)
	if err != http.ErrBodyReadAfterClose {
		t.Errorf("got error %v, want %v", err, http.ErrBodyReadAfterClose)
	}
}

func TestTheContextEndsWhenTheClientDisconnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	entered, ended := make(chan struct{}), make(chan struct{}) // closed by the handler
	s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quick" {
			<-afterAsking(r)
			io.WriteString(w, "quick")
			return
		}
		done := r.Context().Done()
		close(entered)
		<-done
		close(ended)
	})})
	go func() {
		c, err := l.Accept()
		if err == nil {
			s.ServeConn(nested{c}, nil, nil)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	for range 3 { // that the context was watched changes nothing
		io.WriteString(c, "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n")
		if resp, err := http.ReadResponse(in, nil); err != nil || resp.ContentLength != 5 {
			t.Fatalf("got %v, %v, want a response with content of 5 bytes", resp, err)
		}
		in.Discard(5)
	}
	io.WriteString(c, get)
	<-entered
	c.Close()
	<-ended
}

// afterAsking asks for the channel of the request's context. It returns a closed channel.
func afterAsking(r *http.Request) <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	_ = r.Context().Done()
	return closed
}

// nested is a connection as package serve gives it to handlers.
type nested struct{ net.Conn }

// NetConn returns the accepted connection.
func (n nested) NetConn() net.Conn { return n.Conn }
