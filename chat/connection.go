package chat

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"weir/chat/core"
	"weir/serve"
)

// connection is a session as serve calls it.
type connection struct {
	svc     *Service
	session *core.Session
}

// clientConn is the connection of a client as its session uses it.
type clientConn struct{ serve.Conn }

func (c clientConn) Delivered() (sent, acknowledged bool) { return serve.Delivered(c.Conn) }
func (c clientConn) CanMove() bool                        { return serve.CanMove(c.Conn) }

// Session returns the session of a new connection. It returns nil if it refuses the connection; the
// client has been sent the reason. Package serve calls it through Sessions. A listener that knows
// more about its clients calls it with that knowledge.
func (s *Service) Session(c serve.Conn, p Peer) serve.Session {
	if !p.Addr.IsValid() {
		p.Addr = addrOf(c.RemoteAddr())
	}
	var x *core.Session
	if s.withLock(func() { x = s.core.Connect(clientConn{c}, p) }); x == nil {
		return nil
	}
	return &connection{s, x}
}

// addrOf returns the address of a connection; zero if it has none, as on a Unix socket.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	if a == nil {
		return netip.Addr{}
	}
	p, _ := netip.ParseAddrPort(a.String())
	return p.Addr().Unmap()
}

// Input implements serve.Session.
func (c *connection) Input(in []byte, w *serve.Writer) error {
	return c.takeTurn(w, func(r *core.Turn) error { return c.session.Input(in, r) })
}

// Wake implements serve.Session. It continues with held-back input and checks whether the client is
// alive.
func (c *connection) Wake(now time.Time, w *serve.Writer) error {
	return c.takeTurn(w, func(r *core.Turn) error { return c.session.Wake(now, r) })
}

// buffers holds buffers for replies, so that idle sessions have none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// takeTurn calls the session under mu. Then it does what the session asks.
func (c *connection) takeTurn(w *serve.Writer, call func(*core.Turn) error) (err error) {
	buffer := buffers.Get().(*[]byte)
	r := core.Turn{Buffer: *buffer}
	if c.svc.withLock(func() { err = call(&r) }) {
		// Yield to the goroutine that commits: another thread would find it only after 60 us.
		runtime.Gosched()
	}
	if r.PauseInput {
		w.PauseInput()
	}
	if !r.WakeAt.IsZero() {
		w.WakeAt(r.WakeAt)
	}
	w.Write(r.Output)
	if r.Output != nil && cap(r.Output) <= 64<<10 {
		*buffer = r.Output[:0]
	}
	buffers.Put(buffer)
	return err
}

// Close implements serve.Session.
func (c *connection) Close(err error) {
	c.svc.withLock(func() { c.session.Close(causeOf(c.session, err)) })
}

// causeOf returns why serve has closed the session with an error.
func causeOf(x *core.Session, err error) core.CloseCause {
	switch {
	case x.EndedWith(err):
		return core.SessionEnded
	case errors.Is(err, serve.ErrStopped):
		return core.ServerStops
	case errors.Is(err, io.EOF):
		return core.ClientClosed
	}
	return core.ConnectionBroke
}

// Move implements serve.Movable. A session in the middle of a login cannot be handed over.
func (c *connection) Move(w *serve.Writer) (state []byte, ok bool) {
	c.svc.withLock(func() {
		var output []byte
		if state, output, ok = c.session.Move(); ok {
			w.Write(output)
		}
	})
	return state, ok
}
