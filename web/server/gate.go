package server

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"weir/web/internal/conn"
)

// gate accepts connections, at most so many at a time, and puts them under watch. A new one takes
// the place of the longest idle. When none is idle, those beyond wait in the kernel's queue; those
// that are too many of one client are closed.
type gate struct {
	net.Listener
	watch   *conn.Watch
	places  *conn.Places
	crowded func(net.Addr) // gets the address whose connection was closed
	plain   bool           // connections speak HTTP at once: a refusal can be answered

	closing sync.Once
	closed  chan struct{} // no values, closed by Close
}

// usualConns is the limit when none is set: it leaves descriptors for the files, and the servers
// behind, that answers come from.
func usualConns() int {
	const most = 50_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	return int(min(uint64(files.Cur)/4*3, most))
}

func newGate(l net.Listener, w *conn.Watch, p *conn.Places, crowded func(net.Addr)) *gate {
	return &gate{Listener: l, watch: w, places: p, crowded: crowded, closed: make(chan struct{})}
}

// accept waits for a connection, then for a place for it.
func (g *gate) accept() (*conn.Line, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		place, err := g.place(c.RemoteAddr())
		if err == nil {
			return g.watch.Line(c, place), nil
		}
		if err == conn.ErrCrowded && g.plain {
			turnAway(c)
		}
		c.Close()
		if err != conn.ErrCrowded {
			return nil, err
		}
		g.crowded(c.RemoteAddr())
	}
}

// tooMany is what a client is answered that has too many connections open.
const tooMany = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 76\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" +
	"429 Too Many Requests: your address has as many connections open as it may.\n"

// turnAway tells a client why its connection is closed. A new connection has room for that, so it
// does not wait.
func turnAway(c net.Conn) {
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = io.WriteString(c, tooMany)
}

// place waits for a place for a connection.
func (g *gate) place(from net.Addr) (*conn.Place, error) {
	defer g.places.Want(false)
	for {
		place, err := g.places.Take(from.String())
		if err != conn.ErrFull {
			return place, err
		}
		g.places.Want(true)
		// what ended in between did not tell
		if place, err = g.places.Take(from.String()); err != conn.ErrFull {
			return place, err
		}
		if g.places.Wait(g.closed) {
			return nil, net.ErrClosed
		}
	}
}

// Close stops accepting; connections stay. It may be called more than once.
func (g *gate) Close() (err error) {
	g.closing.Do(func() {
		close(g.closed)
		err = g.Listener.Close()
	})
	return err
}

// plain is the gate for net/http when there is no TLS.
type plain struct{ *gate }

func (p plain) Accept() (net.Conn, error) {
	line, err := p.accept()
	if err != nil {
		return nil, err
	}
	return line.Plain(), nil
}

// queue is a listener whose connections come from elsewhere in the program.
type queue struct {
	addr    net.Addr
	conns   chan net.Conn // from the handshakes to the engine, no capacity; nobody closes it
	closing sync.Once
	closed  chan struct{} // no values, closed by Close
}

func newQueue(a net.Addr) *queue {
	return &queue{addr: a, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// put hands c to the engine, or ends it when the engine has stopped.
func (q *queue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		c.Close()
	}
}

func (q *queue) Addr() net.Addr { return q.addr }

func (q *queue) Close() error {
	q.closing.Do(func() { close(q.closed) })
	return nil
}
