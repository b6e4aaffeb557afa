package streamload

import (
	"io"
	"net"
	"sync"
	"testing"
)

// server is a TCP server on a real socket: one goroutine per connection runs handle. Cleanup closes
// the listener and every connection, and waits for their goroutines.
type server struct {
	addr    string
	handled sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

func serve(t *testing.T, addr string, handle func(net.Conn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("cannot listen on %s: %v", addr, err)
	}
	s := &server{addr: l.Addr().String()}
	s.handled.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.handled.Go(func() { defer c.Close(); handle(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.handled.Wait()
	})
	return s
}

// sink stores the input of each connection, in the order in which they end.
type sink struct {
	mu    sync.Mutex
	texts [][]byte // guarded by mu
}

func (k *sink) handle(c net.Conn) {
	text, _ := io.ReadAll(c) //nolint:errcheck // the bytes before a reset count
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts = append(k.texts, text)
}

// received waits for n connections to end and returns their input.
func (k *sink) received(t *testing.T, n int) [][]byte {
	t.Helper()
	eventually(t, "all connections end", func() bool { k.mu.Lock(); defer k.mu.Unlock(); return len(k.texts) == n })
	return k.texts
}

func echo(c net.Conn) { io.Copy(c, c) } //nolint:errcheck // the client sees it
