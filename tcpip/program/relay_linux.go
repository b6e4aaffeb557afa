//go:build amd64 || arm64

package program

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// relayBuffers has buffers for data on its way between the two ends. A direction has one only while
// there is data.
var relayBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// copyOut copies what the program writes to the connection. It reports whether the program has
// ended its stream and may still read: otherwise the connection has ended, or does so here.
func (t *stream) copyOut() (halfClosed bool) {
	for {
		b, n, err := t.readProgram()
		if n > 0 {
			_, err = t.conn.Write(b[:n])
			relayBuffers.Put(b)
			if err == nil {
				continue
			}
			t.fail(err)
			return false
		}
		switch {
		case err == nil:
			return t.programEnded()
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.end.resume()
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed): // by fail or abort
			return false
		default: // ECONNRESET: the program has closed it, and had not read all
			t.resetPeer()
			return false
		}
	}
}

// readProgram waits for data of the program. Its buffer belongs to the caller if n is not 0. The
// end of the program's stream is 0 and no error.
func (t *stream) readProgram() (b *[64 << 10]byte, n int, err error) {
	waitErr := t.end.raw.Read(func(fd uintptr) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.state != streamConnected {
			n, err = 0, net.ErrClosed
			return true
		}
		if n, err = 0, nil; t.beforeMarker == 0 {
			return true
		}
		b = relayBuffers.Get().(*[64 << 10]byte)
		if n, err = t.readLocked(int(fd), b[:]); n == 0 {
			relayBuffers.Put(b)
		}
		return n > 0 || err != unix.EAGAIN && err != unix.EINTR
	})
	if waitErr != nil {
		return nil, 0, waitErr
	}
	return b, n, err
}

// readLocked reads what the program has written, without the marker. The caller holds mu.
func (t *stream) readLocked(fd int, into []byte) (n int, err error) {
	if t.beforeMarker == noMarker {
		n, err = unix.Read(fd, into)
		return max(n, 0), err
	}
	n, err = unix.Read(fd, into[:min(len(into), t.beforeMarker)])
	n = max(n, 0)
	t.beforeMarker -= n
	return n, err
}

// programEnded ends the connection's stream as the program has ended its own: by shutdown, which
// the supervisor has seen, or by close. It reports whether it was shutdown.
func (t *stream) programEnded() (halfClosed bool) {
	t.mu.Lock()
	halfClosed = t.writeEnded
	reset := t.lost || t.opts.resetsAtClose()
	t.mu.Unlock()
	switch {
	case halfClosed:
		t.conn.CloseWrite() //nolint:errcheck // an error of the connection ends copyIn too
	case reset:
		t.resetPeer()
	default:
		t.conn.Close() // what it has still to send is sent
	}
	return halfClosed
}

// resetPeer resets the connection: the program has closed it with data that it has not read.
func (t *stream) resetPeer() {
	t.conn.SetLinger(0) //nolint:errcheck // closed: it has ended
	t.conn.Close()
}

// copyIn copies what arrives by the connection to the program.
func (t *stream) copyIn() {
	defer close(t.incoming)
	for {
		var first [1]byte
		_, err := t.conn.Peek(first[:])
		if err == nil {
			err = t.passOn()
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			t.mu.Lock()
			t.peerEnded = true
			t.end.shutdownWrite()
			t.mu.Unlock()
			return
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed): // by this side
			return
		case errors.Is(err, errProgramClosed):
			t.conn.CloseRead() //nolint:errcheck // an error ends copyOut too
			return
		default:
			t.fail(err)
			return
		}
	}
}

// errProgramClosed is the error of data that the program does not read any more.
var errProgramClosed = errors.New("the program reads no more")

// passOn passes on what has arrived.
func (t *stream) passOn() error {
	b := relayBuffers.Get().(*[64 << 10]byte)
	defer relayBuffers.Put(b)
	for {
		n, err := t.conn.TryRead(b[:])
		if n == 0 {
			if errors.Is(err, unix.EAGAIN) {
				err = nil
			}
			return err
		}
		if _, err := t.end.file.Write(b[:n]); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.lost = !t.readEnded && t.state == streamConnected
			return errors.Join(errProgramClosed, err)
		}
	}
}

// fail ends the socket as the network has ended its connection: the program reads what has arrived,
// and then ECONNRESET.
func (t *stream) fail(err error) {
	t.mu.Lock()
	if t.state != streamConnected {
		t.mu.Unlock()
		return
	}
	t.state, t.err, t.reset = streamBroken, errnoOf(err), true
	if t.end.unread() == 0 && !t.end.hasHungUp() {
		// the kernel gives an error to one end if the other is closed with unread data
		t.withProgramEndLocked(func(fd int) { unix.SendmsgN(fd, []byte{0}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) }) //nolint:errcheck // the program reads the end of the stream then
	}
	t.mu.Unlock()
	t.end.close() // waits for readProgram, which takes mu
}

// shutdown implements socket. The kernel executes it, on the program's end.
func (t *stream) shutdown(c *call, how int) answer {
	if how < unix.SHUT_RD || how > unix.SHUT_RDWR {
		return failed(unix.EINVAL)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state == streamListening && how != unix.SHUT_WR:
		t.state = streamBroken
		t.acceptor.close()
		t.end.interrupt() // its goroutine cleans up
		return value(0)
	case t.state != streamConnected:
		return failed(unix.ENOTCONN)
	}
	if how != unix.SHUT_WR {
		t.readEnded = true
	}
	if how != unix.SHUT_RD && !t.writeEnded {
		t.writeEnded = true
		t.markEndLocked()
	}
	return passOn
}

// markEndLocked puts a byte behind what the program has written, which is never read: so fail still
// can end a socket whose program has shut down writing. The caller holds mu.
func (t *stream) markEndLocked() {
	unread, marked := t.end.unread(), false
	t.withProgramEndLocked(func(fd int) {
		n, err := unix.SendmsgN(fd, []byte{0}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		marked = err == nil && n == 1
	})
	if marked {
		t.beforeMarker = unread
		t.end.interrupt() // copyOut waits for more
	}
}

// connAddr returns the address of a connection.
func connAddr(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.TCPAddr:
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	case *net.UDPAddr:
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	}
	return netip.AddrPort{}
}
