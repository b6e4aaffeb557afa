package origin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// server is a server that calls serve with each of its connections.
type server struct {
	conns atomic.Int64
	pool  *Pool
}

func serverOf(t *testing.T, serve func(net.Conn)) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			all.Go(func() { defer c.Close(); serve(c) })
		}
	})
	var d net.Dialer
	s.pool = &Pool{Dial: func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", l.Addr().String()) }, MaxIdle: 2, IdleTimeout: time.Minute}
	t.Cleanup(func() { s.pool.Close(); l.Close(); all.Wait() })
	return s
}

// answering returns a server that answers each request by the response.
func answering(response string) func(net.Conn) {
	return func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			if _, err := io.WriteString(c, response); err != nil {
				return
			}
		}
	}
}

// take returns a connection that was kept, or a new one.
func (s *server) take(t *testing.T) *Conn {
	t.Helper()
	if c := s.pool.Take(); c != nil {
		return c
	}
	c, err := s.pool.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange has one exchange and returns the content of the response, and its trailers.
func (s *server) exchange(t *testing.T) (content string, err error) {
	t.Helper()
	c := s.take(t)
	c.Begin()
	c.SkipNotice() // the machine may be slow
	defer c.End()
	if err := c.Send([]byte(ask), nil, 0); err != nil {
		return "", err
	}
	if _, err := c.ReadHead("GET", time.Minute); err != nil {
		return "", err
	}
	for {
		piece, err := c.Next()
		content += string(piece)
		switch {
		case err == io.EOF:
			return content + string(c.Trailers()), nil
		case err == nil && len(piece) == 0:
			err = c.Await(time.Minute)
		}
		if err != nil {
			return content, err
		}
	}
}

// responses are whole responses with their content and trailers, and whether the connection can be
// used again.
var responses = []struct {
	bytes, content string
	again          bool
}{
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true},
	{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", true},
	{"HTTP/1.1 204 No Content\r\n\r\n", "", true},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", "hello", true},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n", "helloA: b\r\n", true},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", true},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", "hello", false},
	{"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", false},
}

func TestAConnectionIsKeptAfterAWholeResponse(t *testing.T) {
	for _, r := range responses {
		s := serverOf(t, answering(r.bytes))
		for range 3 {
			if got, err := s.exchange(t); err != nil || got != r.content {
				t.Errorf("%q: got %q, %v, want %q", r.bytes, got, err, r.content)
			}
		}
		want := int64(3)
		if r.again {
			want = 1
		}
		if got := s.conns.Load(); got != want {
			t.Errorf("%q: got %d connections for three exchanges, want %d", r.bytes, got, want)
		}
	}
}

// The pieces in which a response arrives do not matter, and where it breaks off is an error.
func TestAResponseInPieces(t *testing.T) {
	for _, r := range responses {
		for cut := 1; cut < len(r.bytes); cut++ {
			s := serverOf(t, func(c net.Conn) {
				for in := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					io.WriteString(c, r.bytes[:cut])
					time.Sleep(100 * time.Microsecond)
					io.WriteString(c, r.bytes[cut:])
				}
			})
			if got, err := s.exchange(t); err != nil || got != r.content {
				t.Errorf("%q cut at %d: got %q, %v, want %q", r.bytes, cut, got, err, r.content)
			}
			s = serverOf(t, func(c net.Conn) {
				http.ReadRequest(bufio.NewReader(c))
				io.WriteString(c, r.bytes[:cut])
			})
			if got, err := s.exchange(t); err == nil || !strings.HasPrefix(r.content, got) {
				t.Errorf("%q broken off at %d: got %q, %v, want an error", r.bytes, cut, got, err)
			}
		}
	}
}

func TestAResponseUntilTheEndOfTheConnection(t *testing.T) {
	s := serverOf(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhel")
		io.WriteString(c, "lo")
	})
	if got, err := s.exchange(t); err != nil || got != "hello" {
		t.Errorf("got %q, %v, want hello", got, err)
	}
}

// Bytes that a server sends unasked must not become the response to the next request.
func TestAConnectionWithUnexpectedInputIsNotUsedAgain(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	const surplus = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
	for name, late := range map[string]bool{"with the response": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan struct{}, 9)
			s := serverOf(t, func(c net.Conn) {
				for in := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					if !late {
						io.WriteString(c, response+surplus)
						continue
					}
					io.WriteString(c, response)
					time.Sleep(5 * time.Millisecond)
					io.WriteString(c, surplus)
					sent <- struct{}{}
				}
			})
			for range 3 {
				if got, err := s.exchange(t); err != nil || got != "ok" {
					t.Errorf("got %q, %v, want ok", got, err)
				}
				if late {
					<-sent
				}
			}
			if got := s.conns.Load(); got != 3 {
				t.Errorf("got %d connections, want 3", got)
			}
		})
	}
}

func TestAConnectionThatItsServerHasClosedIsNotUsedAgain(t *testing.T) {
	closed := make(chan struct{}, 9)
	s := serverOf(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		c.Close()
		closed <- struct{}{}
	})
	for range 3 {
		if got, err := s.exchange(t); err != nil || got != "ok" {
			t.Errorf("got %q, %v, want ok", got, err)
		}
		<-closed
	}
}

// The deadline of an exchange is not that of the next one.
// trying is a connection of a network stack in user space: it has no descriptor, and a read that
// does not wait.
type trying struct {
	net.Conn
	n   int
	err error
}

func (c trying) TryRead([]byte) (int, error) { return c.n, c.err }

func TestAnIdleConnectionWithoutADescriptorIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		conn net.Conn
		want bool
	}{
		{"nothing has arrived", trying{err: syscall.EAGAIN}, true},
		{"its server has closed it", trying{err: io.EOF}, false},
		{"its server has reset it", trying{err: syscall.ECONNRESET}, false},
		{"bytes came unasked", trying{n: 1}, false},
		{"it cannot be known", struct{ net.Conn }{}, true},
	} {
		if got := (&Conn{conn: c.conn}).isQuiet(); got != c.want {
			t.Errorf("%s: got isQuiet %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAnIdleConnectionIsUsedAfterTheDeadlineOfItsLastExchange(t *testing.T) {
	s := serverOf(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	for range 2 {
		if got, err := s.exchange(t); err != nil || got != "ok" {
			t.Errorf("got %q, %v, want ok", got, err)
		}
		time.Sleep(2 * noticeAfter)
	}
	if got := s.conns.Load(); got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
}

func TestIdleConnectionsAreLimitedAndExpire(t *testing.T) {
	s := serverOf(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	s.pool.IdleTimeout = 20 * time.Millisecond
	all := make([]*Conn, 5)
	for i := range all {
		all[i] = s.take(t)
		all[i].Begin()
		all[i].SkipNotice()
		if err := all[i].Send([]byte(ask), nil, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := all[i].ReadHead("HEAD", time.Minute); err != nil {
			t.Fatal(err)
		}
		all[i].in = all[i].in[:all[i].start] // the content that a HEAD does not have
	}
	for _, c := range all {
		c.End()
	}
	kept := func() int {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return len(s.pool.idle)
	}
	if n := kept(); n > 2 {
		t.Errorf("got %d idle connections, want MaxIdle, 2", n)
	}
	for began := time.Now(); kept() > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("idle connections do not expire")
		}
	}
}

func TestWaitsEnd(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	s := serverOf(t, func(c net.Conn) { <-hold })
	for name, end := range map[string]func(*Conn) error{
		"at first by a notice": func(c *Conn) error { _, err := c.ReadHead("GET", time.Minute); return err },
		"at the limit": func(c *Conn) error {
			if _, err := c.ReadHead("GET", 2*noticeAfter); err != ErrSlow {
				return err
			}
			_, err := c.ReadHead("GET", noticeAfter)
			return err
		},
		"by an interrupt": func(c *Conn) error { go c.Interrupt(); _, err := c.ReadHead("GET", time.Minute); return err },
		"by an interrupt after the notice": func(c *Conn) error {
			if _, err := c.ReadHead("GET", 0); err != ErrSlow {
				return err
			}
			go c.Interrupt()
			_, err := c.ReadHead("GET", 0)
			return err
		},
	} {
		c := s.take(t)
		c.Begin()
		err := end(c)
		if isLimit := errors.Is(err, os.ErrDeadlineExceeded); err == nil || isLimit != (name == "at the limit") || (err == ErrSlow) != (name == "at first by a notice") {
			t.Errorf("%s: got %v", name, err)
		}
		c.End()
		if s.pool.pop() != nil {
			t.Errorf("%s: the connection was kept", name)
		}
	}
}

// A line that a connection remembers must not be taken for one in another place, or of another
// case.
func TestFieldsAreThoseOfTheirResponse(t *testing.T) {
	heads := []string{"A: 1\r\nB: 2\r\n", "A: 1\r\nB: 2\r\n", "B: 2\r\nA: 1\r\n", "a:1\r\n", "", "A: 1\r\nb: 3\r\nC: " + strings.Repeat("c", maxRemembered) + "\r\n", "A: 1\r\nA: 1\r\n"}
	next := 0
	s := serverOf(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; next++ {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+heads[next%len(heads)]+"Content-Length: 0\r\n\r\n")
		}
	})
	for i, head := range slices.Concat(heads, heads) {
		c := s.take(t)
		c.Begin()
		c.SkipNotice()
		if err := c.Send([]byte(ask), nil, 0); err != nil {
			t.Fatal(err)
		}
		r, err := c.ReadHead("GET", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		want, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "Content-Length: 0\r\n\r\n"))).ReadMIMEHeader()
		if err != nil {
			t.Fatal(err)
		}
		got := textproto.MIMEHeader{}
		for _, f := range c.Fields() {
			got[f.Name] = append(got[f.Name], f.Values...)
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("response %d with %q: got %v, want %v", i, r.Fields, got, want)
		}
		c.End()
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("got %d connections, want 1, which remembers", n)
	}
}

func TestHeadsAndTrailersAreLimited(t *testing.T) {
	for name, begins := range map[string]string{"head": "HTTP/1.1 200 OK\r\n", "trailers": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"} {
		s := serverOf(t, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, begins)
			for {
				if _, err := fmt.Fprintf(c, "X: %s\r\n", strings.Repeat("a", 1<<16)); err != nil {
					return
				}
			}
		})
		if _, err := s.exchange(t); err == nil {
			t.Errorf("%s without an end: got no error", name)
		}
	}
}
