package nat

import (
	"errors"
	"io"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/serve"
	"weir/tcpip"
)

// relay passes a connection on by a socket. It is a session of the gateway's stack: the goroutine
// that reads the link calls it, and no other goroutine takes part.
//
//	guest ──> Take ──> write ──> socket        a full socket pauses the input of the session
//	guest <── Stream <── read <── socket       a full send buffer ends the calls of Stream
type relay struct {
	n      *NAT
	client netip.Addr // whose flow it is
	fd     int        // the socket onward
	// of a connection onward that is not there yet, otherwise nil; used by ready
	request *tcpip.TCPRequest
	conn    atomic.Pointer[serve.Conn] // nil before open
	// EPOLLIN and EPOLLOUT: a read or a write may succeed; EPOLLRDHUP: no data will follow
	can atomic.Uint32

	// Used by the session's calls.
	farEnded, nearEnded bool // that side has finished sending
}

const (
	canBoth  = unix.EPOLLIN | unix.EPOLLOUT
	endOrErr = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// forwardBySocket connects onward for a guest's attempt to connect.
func (n *NAT) forwardBySocket(r *tcpip.TCPRequest) {
	client := r.From().Addr()
	if !n.begin(client) {
		r.Drop()
		return
	}
	fd, err := n.connectSocket(unix.SOCK_STREAM, r.To())
	if err != nil {
		n.end(client)
		r.Reject(err)
		return
	}
	f := &relay{n: n, client: client, request: r, fd: fd}
	if err := f.watch(); err != nil {
		r.Drop()
	}
}

// watch has the poller watch the socket. After an error the socket is closed.
func (f *relay) watch() error {
	err := f.n.poller.add(f.fd, f, canBoth|unix.EPOLLRDHUP|unix.EPOLLET)
	if err != nil {
		unix.Close(f.fd) //nolint:errcheck // it is
		f.n.end(f.client)
	}
	return err
}

// ready implements socket.
func (f *relay) ready(events uint32) {
	if f.request != nil {
		f.connected(events)
		return
	}
	f.can.Or(possible(events))
	if c := f.conn.Load(); c != nil {
		(*c).Post()
	}
}

// possible returns what the events make possible, as relay.can has it.
func possible(events uint32) uint32 {
	if events&endOrErr != 0 { // the next read and write show which
		events |= canBoth | unix.EPOLLRDHUP
	}
	return events & (canBoth | unix.EPOLLRDHUP)
}

// connected answers the guest once the attempt to connect has ended. The same event may report that
// the far end has finished sending already: there will be no other event for it.
func (f *relay) connected(events uint32) {
	r := f.request
	f.request = nil
	errno, err := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err == nil {
		f.can.Store(possible(events | canBoth))
		err = r.Serve(f.n.relays, f.open)
	}
	if err != nil {
		r.Reject(err)
		f.end()
	}
}

// open opens the session.
func (f *relay) open(c serve.Conn) serve.Session {
	f.conn.Store(&c)
	return f
}

// end closes the socket. It is called once.
func (f *relay) end() {
	f.n.poller.remove(f.fd)
	f.n.end(f.client)
}

// abandon implements socket. Only relays without a session are left then.
func (f *relay) abandon() {
	if f.request != nil {
		f.request.Drop()
	}
	f.end()
}

// Take implements tcpip.Taker: it passes on what the guest sends.
func (f *relay) Take(pieces [][]byte) (n int, err error) {
	left := pieces
	for len(left) > 0 && f.can.Load()&unix.EPOLLOUT != 0 {
		f.can.And(^uint32(unix.EPOLLOUT)) // before the write, so that an event after it counts
		k, err := writePieces(f.fd, left)
		switch err {
		case 0:
			n += k
			// otherwise the socket is full: epoll(7)
			if left = dropFirst(left, k); len(left) == 0 {
				f.can.Or(unix.EPOLLOUT)
			}
		case unix.EINTR:
			f.can.Or(unix.EPOLLOUT)
		case unix.EAGAIN:
		default:
			return n, syscall.ECONNRESET
		}
	}
	return n, nil
}

// Input implements serve.Session; Take is called instead.
func (f *relay) Input([]byte, *serve.Writer) error { return errors.ErrUnsupported }

// Stream implements tcpip.Streamer: it returns what the far end sends.
func (f *relay) Stream() ([]byte, error) {
	buffer := f.n.poller.buffer[:]
	for !f.farEnded && f.can.Load()&unix.EPOLLIN != 0 {
		// before the read, so that an event after it counts
		before := f.can.And(^uint32(unix.EPOLLIN))
		n, err := unix.Read(f.fd, buffer)
		switch {
		case n > 0:
			// otherwise the socket is empty: epoll(7)
			if n == len(buffer) || before&unix.EPOLLRDHUP != 0 {
				f.can.Or(unix.EPOLLIN)
			}
			return buffer[:n], nil
		case err == nil:
			return nil, f.endFar()
		case err == unix.EINTR:
			f.can.Or(unix.EPOLLIN)
		case err != unix.EAGAIN:
			return nil, syscall.ECONNRESET
		}
	}
	return nil, nil
}

// endFar passes on that the far end has finished sending.
func (f *relay) endFar() error {
	f.farEnded = true
	if f.nearEnded {
		return io.EOF
	}
	if c, ok := (*f.conn.Load()).(tcpip.CloseWriter); ok {
		c.CloseWrite() //nolint:errcheck // it has ended otherwise
	}
	return nil
}

// InputEnd implements serve.HalfCloser: the guest has finished sending.
func (f *relay) InputEnd(*serve.Writer) error {
	f.nearEnded = true
	if f.farEnded {
		return io.EOF
	}
	if err := unix.Shutdown(f.fd, unix.SHUT_WR); err != nil {
		return syscall.ECONNRESET
	}
	return nil
}

// Wake implements serve.Session: the socket is ready. Take and Stream follow.
func (f *relay) Wake(time.Time, *serve.Writer) error { return nil }

// Close implements serve.Session. A connection that did not end in order resets the one onward.
func (f *relay) Close(err error) {
	if err != io.EOF {
		unix.SetsockoptLinger(f.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) //nolint:errcheck // it has ended otherwise
	}
	f.end()
}
