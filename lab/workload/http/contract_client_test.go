package http

import (
	"bufio"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/lab/contract"
)

// reading returns a connection from which the checks read text, and then more for ever.
func reading(text string, more string) *conn {
	a := &allowance{from: &endless{strings.NewReader(text), more}}
	return &conn{in: bufio.NewReader(a), allowed: a, b: &bench{}}
}

// endless is text that is followed by more, again and again.
type endless struct {
	*strings.Reader
	more string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.Len() == 0 {
		e.Reset(e.more)
	}
	return e.Reader.Read(p)
}

func TestInterimResponsesAreSkipped(t *testing.T) {
	const interim, final = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	v := reading(interim+final, "HTTP/1.1 500 Too Late\r\n")
	var got response
	if err := contract.Try(func() { got = v.read("GET") }); err != nil || got.StatusCode != 200 || string(got.body) != "hi" {
		t.Errorf("got %+v (%v), want the final response", got, err)
	}
}

// counted is an endless body that counts the readers that are beyond smallBody.
type counted struct {
	read  int
	large *atomic.Int64
	most  *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	before := c.read
	c.read += len(p)
	if before < smallBody && c.read >= smallBody {
		return len(p), nil
	}
	if before >= smallBody {
		if n := c.large.Add(1); n > c.most.Load() {
			c.most.Store(n)
		}
		time.Sleep(time.Microsecond) // so that others read meanwhile, if they may
		c.large.Add(-1)
	}
	return len(p), nil
}

// TestLargeBodiesAreHeldOneAtATime: a server that sends endless bodies on all connections must not
// use up the memory.
func TestLargeBodiesAreHeldOneAtATime(t *testing.T) {
	var b bench
	var large, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if body, err := b.readBody(&counted{large: &large, most: &most}); err != nil || len(body) != maxBody+1 {
				t.Errorf("got %d bytes and %v, want a byte more than %d", len(body), err, maxBody)
			}
		})
	}
	if all.Wait(); most.Load() != 1 {
		t.Errorf("got %d large bodies at a time, want 1", most.Load())
	}
	for _, size := range []int{0, smallBody - 1, smallBody, smallBody + 1} {
		if body, err := b.readBody(strings.NewReader(strings.Repeat("x", size))); err != nil || len(body) != size {
			t.Errorf("%d bytes: got %d (%v), want all", size, len(body), err)
		}
	}
}

// TestAResponseWithoutEndIsAnError: a check keeps what it reads in memory.
func TestAResponseWithoutEndIsAnError(t *testing.T) {
	line := strings.Repeat("x", 5000)
	for _, c := range []struct{ text, more, want string }{
		{"HTTP/1.1 200 OK\r\n", "A: " + line + "\r\n", errTooLong.Error()},
		{"HTTP/1.1 200 OK\r\n", line, "xxx…"},
		{"", line, errTooLong.Error()},
		{"", "HTTP/1.1 100 Continue\r\n\r\n", "more than 32 interim ones"},
		{"HTTP/1.1 200 OK\r\n\r\n", line, "at most 64 MiB"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n", "expected a body in chunks or up to the end of the connection, saw 0 bytes"},
	} {
		v := reading(c.text, c.more)
		if err := contract.Try(func() { v.read("GET") }); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
			t.Errorf("%q and %.20q for ever: got %.500v, want an error with %q", c.text, c.more, err, c.want)
		}
	}
}
