package agent

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// cable passes the bytes of connections on, until it is cut. A cut cable drops bytes and closes no
// connection.
type cable struct {
	addr string
	cut  atomic.Bool

	copies sync.WaitGroup
	mu     sync.Mutex
	ends   []net.Conn
}

// newCable makes a cable to an address, which lasts as long as the test.
func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{addr: l.Addr().String()}
	c.copies.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.connect(t, near, to)
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.mu.Lock()
		for _, end := range c.ends {
			end.Close()
		}
		c.mu.Unlock()
		c.copies.Wait()
	})
	return c
}

func (c *cable) connect(t *testing.T, near net.Conn, to string) {
	far, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		near.Close()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, near, far)
	c.copies.Go(func() { c.pass(near, far) })
	c.copies.Go(func() { c.pass(far, near) })
}

// pass passes bytes in one direction until an end is closed.
func (c *cable) pass(from, to net.Conn) {
	for b := make([]byte, 64<<10); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if !c.cut.Load() {
			to.Write(b[:n])
		}
	}
}
