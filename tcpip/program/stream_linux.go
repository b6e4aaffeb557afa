//go:build amd64 || arm64

package program

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// streamState is the state of a TCP socket.
type streamState uint8

const (
	// neither connected nor listening; the program's end is not writable
	streamIdle       streamState = iota
	streamConnecting             // as idle
	streamConnected              // two goroutines copy
	streamListening              // a byte waits in the program's end for each connection
	streamBroken                 // after an error: the supervisor's end is closed, or will be
	streamClosed                 // the program has closed it
)

// noMarker is the value of stream.beforeMarker while there is no marker.
const noMarker = -1

// stream is a TCP socket.
type stream struct {
	core

	// The fields below are guarded by core.mu.

	state  streamState
	filler int // bytes that keep the program's end from being writable
	remote netip.AddrPort
	claim  *portClaim // of bind; nil: not bound
	// the connection, and the end of its incoming goroutine; nil: there was none
	conn     *tcpip.Conn
	incoming chan struct{}
	attempt  *attempt // of streamConnecting
	reported bool     // connect has returned that it is connected
	acceptor *acceptor

	// bytes of the program that are still to be read before the marker, which is never read: see
	// shutdown
	beforeMarker int
	peerEnded    bool // the program reads the end of the peer's stream
	readEnded    bool // the program has shut down reading
	writeEnded   bool // the program has shut down writing
	lost         bool // the program has not read what had arrived when it closed
	reset        bool // the connection ends by a reset
}

// newStream makes a TCP socket for the program.
func (c *call) newStream(inet6 bool, flags int) answer {
	end, theirs, inode, err := newPair(unix.SOCK_STREAM, flags)
	if err != nil {
		return failed(errnoOf(err))
	}
	defer unix.Close(theirs)
	t := &stream{core: core{s: c.s, inode: inode, inet6: inet6, end: end, local: unspecified(inet6)}, beforeMarker: noMarker}
	if t.filler, err = fill(theirs); err != nil {
		end.close()
		return failed(errnoOf(err))
	}
	return c.give(t, &t.core, theirs, flags, t.run)
}

// give adds a socket, whose goroutine is run, and gives it to the program.
func (c *call) give(k socket, of *core, theirs, flags int, run func()) answer {
	of.tid = c.tid
	c.s.add(of.inode, k)
	fd, err := c.s.listener.inject(c.id, theirs, flags&unix.SOCK_CLOEXEC != 0)
	if err != nil {
		c.s.remove(of.inode, k)
		of.end.close()
		if err == unix.ENOENT { // the thread was interrupted: it calls again
			return isSent
		}
		return failed(errnoOf(err))
	}
	of.mu.Lock()
	of.fd = fd
	of.mu.Unlock()
	c.s.tasks.Go(run) // until the program has closed the socket
	return isSent
}

func unspecified(inet6 bool) netip.AddrPort {
	if inet6 {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
}

func (t *stream) isStream() bool { return true }

func (t *stream) remoteAddr() (netip.AddrPort, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote, t.state == streamConnected
}

// run is the socket's goroutine: it waits for a connection, copies what the program writes, and
// cleans up when the program has closed the socket.
func (t *stream) run() {
	if t.awaitConnected() {
		if t.copyOut() {
			t.awaitClose()
			t.closeHalfClosed()
		}
		<-t.incoming
	}
	t.cleanUp()
}

// awaitConnected reports whether the socket was connected before the program closed it.
func (t *stream) awaitConnected() bool {
	for {
		t.mu.Lock()
		state := t.state
		t.mu.Unlock()
		if state == streamConnected || state == streamBroken {
			return state == streamConnected
		}
		if err := t.end.waitHangup(); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		t.end.resume()
	}
}

// awaitClose waits until the program has closed a socket that it has shut down for writing, or
// until the other direction has ended too.
func (t *stream) awaitClose() {
	for errors.Is(t.end.waitHangup(), os.ErrDeadlineExceeded) {
		t.end.resume()
	}
}

// closeHalfClosed closes a connection whose stream to the peer has ended already.
func (t *stream) closeHalfClosed() {
	t.mu.Lock()
	reset := !t.peerEnded && !t.readEnded && (t.lost || t.opts.resetsAtClose())
	t.mu.Unlock()
	if reset {
		t.resetPeer()
	} else {
		t.conn.Close()
	}
}

// cleanUp ends what the socket has.
func (t *stream) cleanUp() {
	t.mu.Lock()
	attempt, acceptor, conn, claim := t.attempt, t.acceptor, t.conn, t.claim
	mayBeOpen := t.state == streamBroken || t.writeEnded && (t.peerEnded || t.readEnded)
	if t.state != streamBroken {
		t.state = streamClosed
	}
	t.finished.Store(true)
	hasMarker := t.beforeMarker != noMarker && !t.reset
	t.mu.Unlock()
	if attempt != nil {
		attempt.cancel()
	}
	if acceptor != nil {
		acceptor.close()
	}
	if conn != nil {
		conn.Close() // a reset one has been closed already
	}
	t.s.ports.release(claim)
	if hasMarker {
		t.end.discard(t.end.unread()) // or the program's end would have an error
	}
	t.end.close()
	if mayBeOpen {
		t.s.retire(t.inode)
	} else {
		t.s.remove(t.inode, t)
	}
}

// abort resets the connection.
func (t *stream) abort() {
	t.mu.Lock()
	conn := t.conn
	t.reset = true
	t.mu.Unlock()
	if conn != nil {
		conn.SetLinger(0) //nolint:errcheck // closed: it has ended
		conn.Close()
	}
	t.end.close()
}

// attempt is a connection that is being opened.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended; then errno is valid
	errno  unix.Errno
	// calls of connect that wait for the end. The program learns it from its end of the pair if
	// there are none. Guarded by mu of the socket
	waiting int
}

// connect implements socket.
func (t *stream) connect(c *call, to netip.AddrPort) answer {
	nonblocking := c.isNonblocking()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.state {
	case streamIdle:
		t.startLocked(to)
	case streamConnecting:
		if nonblocking {
			return failed(unix.EALREADY)
		}
	default:
		return t.connectAgainLocked()
	}
	if nonblocking {
		return failed(unix.EINPROGRESS)
	}
	a := t.attempt
	a.waiting++
	c.undo = append(c.undo, func() { t.unreport(a) }) // it connects again, or polls
	return c.wait(func(cancel <-chan struct{}) answer { return t.awaitAttempt(a, cancel) })
}

// connectAgainLocked is the answer of connect to a socket that is not idle. The caller holds mu.
func (t *stream) connectAgainLocked() answer {
	errno := t.err
	switch {
	case t.state == streamConnected && !t.reported:
		t.reported = true
		return value(0)
	case t.state != streamBroken:
		return failed(unix.EISCONN)
	case errno == 0:
		return failed(unix.ECONNABORTED) // the kernel would open it again
	}
	t.err = 0
	return failed(errno)
}

// awaitAttempt is the answer of a connect that waits.
func (t *stream) awaitAttempt(a *attempt, cancel <-chan struct{}) answer {
	var timeout <-chan time.Time
	if d := t.opts.timeout(unix.SO_SNDTIMEO); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-a.done:
		t.setReported(true)
		return result(a.errno)
	case <-timeout:
		return t.inBackground(a, failed(unix.EINPROGRESS))
	case <-cancel:
		return t.inBackground(a, isSent)
	}
}

// setReported sets whether connect has returned that the socket is connected.
func (t *stream) setReported(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reported = yes
}

// unreport has the program learn the end of an attempt by poll or the next connect: a signal has
// interrupted the connect that waited.
func (t *stream) unreport(a *attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	restarted := a.waiting > 1 // the thread has called again already
	if t.reported = false; a.errno != 0 && t.state == streamIdle && !restarted {
		t.breakLocked(a.errno)
	}
}

// breakLocked ends a socket whose attempt has failed. The caller holds mu.
func (t *stream) breakLocked(errno unix.Errno) {
	t.state, t.err = streamBroken, errno
	t.end.close() // with filler that was not read: an error for the program's end
}

// inBackground lets an attempt go on without a call that waits for it.
func (t *stream) inBackground(a *attempt, now answer) answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.waiting--
	return now
}

// startLocked starts to open a connection. The caller holds mu.
func (t *stream) startLocked(to netip.AddrPort) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{cancel: cancel, done: make(chan struct{})}
	t.state, t.attempt, t.remote = streamConnecting, a, to
	d := tcpip.Dialer{Stack: t.s.stack, Configure: t.opts.configure}
	if t.claim != nil {
		d.LocalAddr = t.claim.addr
	}
	t.s.tasks.Go(func() { // until the connection is open or not, or the program closes the socket
		defer cancel()
		conn, err := d.DialContext(ctx, "tcp", t.s.redirected(to).String())
		if err != nil {
			t.attemptFailed(a, errnoOf(err))
			return
		}
		t.established(a, conn.(*tcpip.Conn))
	})
}

// attemptFailed reports why a connection was not opened. A socket whose connect waits is idle
// again; another one learns it from its end, which is then readable and writable.
func (t *stream) attemptFailed(a *attempt, errno unix.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.errno = errno
	close(a.done)
	t.attempt = nil
	if t.state != streamConnecting {
		return
	}
	if t.state = streamIdle; a.waiting == 0 {
		t.breakLocked(errno)
	}
}

// established starts to copy between the program and a connection.
func (t *stream) established(a *attempt, conn *tcpip.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(a.done)
	t.attempt = nil
	if t.state != streamConnecting {
		conn.Close()
		return
	}
	t.withProgramEndLocked(func(fd int) {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, normalSendBuffer) //nolint:errcheck // it is slower without
	})
	t.connectedLocked(conn)
	t.s.tasks.Go(t.copyIn)  // until the connection ends
	t.end.discard(t.filler) // from now on the program's end is writable
	t.end.interrupt()
}

// connectedLocked makes a connection that of the socket. The caller holds mu.
func (t *stream) connectedLocked(conn *tcpip.Conn) {
	t.conn, t.state, t.incoming = conn, streamConnected, make(chan struct{})
	t.local, t.remote = connAddr(conn.LocalAddr()), t.remoteOf(conn)
	t.opts.applyAll(conn)
}

// remoteOf returns the peer's address as the program knows it: queries for names are redirected.
func (t *stream) remoteOf(conn *tcpip.Conn) netip.AddrPort {
	if t.remote.IsValid() {
		return t.remote
	}
	return connAddr(conn.RemoteAddr())
}

// disconnect implements socket: connect to AF_UNSPEC.
func (t *stream) disconnect() answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == streamIdle {
		return value(0)
	}
	return failed(unix.EOPNOTSUPP)
}

// bind implements socket.
func (t *stream) bind(a netip.AddrPort) unix.Errno {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claim != nil || t.state != streamIdle {
		return unix.EINVAL
	}
	p, errno := t.s.ports.claim(t, a, t.opts.isSet(unix.SOL_SOCKET, unix.SO_REUSEADDR), t.opts.isSet(unix.SOL_SOCKET, unix.SO_REUSEPORT))
	if errno != 0 {
		return errno
	}
	t.claim, t.local = p, p.addr
	return 0
}
