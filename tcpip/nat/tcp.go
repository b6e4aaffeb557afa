package nat

import (
	"io"
	"net"
	"net/netip"
	"sync"

	"weir/tcpip"
)

// forwardTCP answers a host's attempt to connect when the connection onward is there.
func (n *NAT) forwardTCP(r *tcpip.TCPRequest) {
	n.forward("tcp", r, func(far net.Conn) {
		near, err := r.Accept(n.ctx)
		if err != nil { // the guest has reset it, or has gone
			abort(far)
			return
		}
		if n.keep(near) {
			join(near, far)
			n.close(near)
		}
	})
}

// connectIn connects a connection of a client outside to a host. It reports whether a session has
// it now, which counts as the client's flow; otherwise it has ended.
func (n *NAT) connectIn(far net.Conn, to netip.AddrPort, client netip.Addr) (goesOn bool) {
	near, err := n.stack.DialContext(n.ctx, "tcp", to.String())
	if err != nil {
		abort(far)
		n.close(far)
		return false
	}
	if n.relayIn(near.(*tcpip.Conn), far, client) {
		n.forget(far)
		return true
	}
	defer n.close(far)
	if n.keep(near) {
		join(near.(*tcpip.Conn), far)
		n.close(near)
	}
	return false
}

// join copies between two connections until both directions have ended. When one end resets its
// connection, so is the other one.
func join(near *tcpip.Conn, far net.Conn) {
	var out sync.WaitGroup
	out.Go(func() { pass(far, near) })
	pass(near, far)
	out.Wait()
}

// pass copies a direction of a connection, with its end.
func pass(to, from net.Conn) {
	if err := copyConn(to, from); err != nil {
		abort(to)
		abort(from)
		return
	}
	if w, ok := to.(interface{ CloseWrite() error }); ok {
		w.CloseWrite() //nolint:errcheck // it has ended otherwise
	}
}

// abort resets a connection.
func abort(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		l.SetLinger(0) //nolint:errcheck // it has ended otherwise
	}
	c.Close() //nolint:errcheck // it is
}

// A direction has a small buffer while it waits, and a large one while much arrives.
const (
	smallBuffer = 8 << 10
	largeBuffer = 256 << 10
)

// largeBuffers holds large buffers.
var largeBuffers = sync.Pool{New: func() any { b := make([]byte, largeBuffer); return &b }}

// copyConn copies until from ends.
func copyConn(to io.Writer, from io.Reader) error {
	small := make([]byte, smallBuffer)
	for {
		n, err := from.Read(small)
		if n > 0 {
			if _, err := to.Write(small[:n]); err != nil {
				return err
			}
		}
		if err == nil && n == len(small) {
			err = copyMuch(to, from)
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// copyMuch copies until a read finds little.
func copyMuch(to io.Writer, from io.Reader) error {
	b := largeBuffers.Get().(*[]byte)
	defer largeBuffers.Put(b)
	for {
		n, err := from.Read(*b)
		if n > 0 {
			if _, err := to.Write((*b)[:n]); err != nil {
				return err
			}
		}
		if err != nil || n <= smallBuffer {
			return err
		}
	}
}
