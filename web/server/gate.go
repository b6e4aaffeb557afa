package server

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"weir/web/internal/conn"
)

// limitedListener accepts connections up to a limit and puts them under the watch's timeouts. At
// the limit, a new connection replaces the longest idle one. If none is idle, further ones wait in
// the kernel's accept queue. Connections above their client's limit are closed.
type limitedListener struct {
	net.Listener
	watch              *conn.Watch
	connLimit          *conn.Places
	onOverLimit        func(net.Addr) // called with the address whose connection was closed
	rejectsInPlainHTTP bool           // no TLS: send a 429 before closing

	closeOnce sync.Once
	closed    chan struct{} // carries no values; closed by Close
}

// defaultMaxConns is the default of MaxConns. It leaves file descriptors for files and upstream
// connections.
func defaultMaxConns() int {
	const most = 50_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	return int(min(uint64(files.Cur)/4*3, most))
}

func newLimitedListener(l net.Listener, w *conn.Watch, p *conn.Places, crowded func(net.Addr)) *limitedListener {
	return &limitedListener{Listener: l, watch: w, connLimit: p, onOverLimit: crowded, closed: make(chan struct{})}
}

// accept waits for a connection, then for room for it.
func (g *limitedListener) accept() (*conn.Line, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		place, err := g.waitForPlace(c.RemoteAddr())
		if err == nil {
			return g.watch.Line(c, place), nil
		}
		if err == conn.ErrCrowded && g.rejectsInPlainHTTP {
			reject(c)
		}
		c.Close()
		if err != conn.ErrCrowded {
			return nil, err
		}
		g.onOverLimit(c.RemoteAddr())
	}
}

// tooManyConnections is the response to a client that has too many connections open.
const tooManyConnections = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 76\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" +
	"429 Too Many Requests: your address has as many connections open as it may.\n"

// reject sends the 429 response. A new connection's send buffer has room for it, so the write does
// not block.
func reject(c net.Conn) {
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = io.WriteString(c, tooManyConnections)
}

// waitForPlace waits until the connection limit has room for a connection.
func (g *limitedListener) waitForPlace(from net.Addr) (*conn.Place, error) {
	defer g.connLimit.Want(false)
	for {
		place, err := g.connLimit.Take(from.String())
		if err != conn.ErrFull {
			return place, err
		}
		g.connLimit.Want(true)
		// a connection may have ended before Want(true)
		if place, err = g.connLimit.Take(from.String()); err != conn.ErrFull {
			return place, err
		}
		if g.connLimit.Wait(g.closed) {
			return nil, net.ErrClosed
		}
	}
}

// Close stops accepting and leaves connections open. It may be called more than once.
func (g *limitedListener) Close() (err error) {
	g.closeOnce.Do(func() {
		close(g.closed)
		err = g.Listener.Close()
	})
	return err
}

// plainListener is the listener of net/http without TLS.
type plainListener struct{ *limitedListener }

func (p plainListener) Accept() (net.Conn, error) {
	line, err := p.accept()
	if err != nil {
		return nil, err
	}
	return line.Plain(), nil
}

// handoffListener is a net.Listener whose connections come from another goroutine.
type handoffListener struct {
	addr      net.Addr
	conns     chan net.Conn // from handshakes to the engine; unbuffered, never closed
	closeOnce sync.Once
	closed    chan struct{} // carries no values; closed by Close
}

func newHandoffListener(a net.Addr) *handoffListener {
	return &handoffListener{addr: a, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *handoffListener) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// handOff passes c to the engine, or closes c if the engine has stopped.
func (q *handoffListener) handOff(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		c.Close()
	}
}

func (q *handoffListener) Addr() net.Addr { return q.addr }

func (q *handoffListener) Close() error {
	q.closeOnce.Do(func() { close(q.closed) })
	return nil
}
