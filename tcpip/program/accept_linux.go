//go:build amd64 || arm64

package program

import (
	"errors"
	"net"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// maxBacklog is the largest backlog of a listener, as net.core.somaxconn of Linux.
const maxBacklog = 4096

// acceptor is what a listening socket has beside: the connections that wait for accept. For each, a
// byte waits in the program's end, so that it is ready to read.
type acceptor struct {
	group   *listenerGroup
	backlog int
	t       *stream

	mu      sync.Mutex // guards what follows
	pending []*tcpip.Conn
	bytes   int           // in the program's end
	changed chan struct{} // closed, and replaced, at each change of pending
	closed  bool
}

// listen implements socket.
func (t *stream) listen(backlog int) answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == streamListening {
		t.acceptor.setBacklog(backlog)
		return value(0)
	}
	if t.state != streamIdle {
		return failed(unix.EINVAL)
	}
	if t.claim == nil {
		p, errno := t.s.ports.claim(t, t.local, false, false)
		if errno != 0 {
			return failed(errno)
		}
		t.claim, t.local = p, p.addr
	}
	if errno := t.s.ports.listen(t.claim); errno != 0 {
		return failed(errno)
	}
	t.acceptor = &acceptor{t: t, changed: make(chan struct{})}
	t.acceptor.setBacklog(backlog)
	if errno := t.acceptor.joinLocked(); errno != 0 {
		t.acceptor = nil
		return failed(errno)
	}
	t.state = streamListening
	return value(0)
}

// network returns the versions of IP of a listener.
func (t *stream) network() string {
	switch {
	case !t.inet6:
		return "tcp4"
	case t.only6():
		return "tcp6"
	}
	return "tcp"
}

// listenAddr returns the listener's address as the stack parses it.
func (t *stream) listenAddr() string {
	return net.JoinHostPort(t.claim.addr.Addr().String(), strconv.Itoa(int(t.claim.addr.Port())))
}

func clampBacklog(n int) int {
	if n < 0 || n > maxBacklog {
		return maxBacklog
	}
	return max(n, 1)
}

func (a *acceptor) setBacklog(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.backlog = clampBacklog(n)
}

// add has a connection wait for accept. It waits for room, and reports whether the socket was open.
func (a *acceptor) add(conn *tcpip.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.pending) >= a.backlog && !a.closed {
		changed := a.changed
		a.mu.Unlock()
		<-changed
		a.mu.Lock()
	}
	if a.closed {
		return false
	}
	a.pending = append(a.pending, conn)
	a.t.end.raw.Control(func(fd uintptr) { //nolint:errcheck // closed: nothing waits for it
		if n, err := unix.SendmsgN(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err == nil {
			a.bytes += n
		}
	})
	a.changeLocked()
	return true
}

func (a *acceptor) changeLocked() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// close closes the listener. Connections that wait are reset.
func (a *acceptor) close() {
	a.leave()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	for _, conn := range a.pending {
		conn.SetLinger(0) //nolint:errcheck // closed: it has ended
		conn.Close()
	}
	a.pending = nil
	a.changeLocked()
}

// errNonePending is the error of take while no connection waits.
var errNonePending = errors.New("no connection waits")

// take returns the connection that has waited longest. drain removes bytes from the program's end.
func (a *acceptor) take(drain func(n int)) (conn *tcpip.Conn, changed <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, nil, unix.EINVAL
	case len(a.pending) == 0:
		return nil, a.changed, errNonePending
	}
	conn = a.pending[0]
	a.pending = a.pending[1:]
	if surplus := a.bytes - len(a.pending); surplus > 0 {
		drain(surplus)
		a.bytes -= surplus
	}
	a.changeLocked()
	return conn, nil, nil
}

// putBack has a connection wait again that could not be given to the program.
func (a *acceptor) putBack(conn *tcpip.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		conn.Close()
		return
	}
	a.pending = append([]*tcpip.Conn{conn}, a.pending...)
	a.t.end.raw.Control(func(fd uintptr) { //nolint:errcheck // closed: nothing waits for it
		if n, err := unix.SendmsgN(int(fd), []byte{0}, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err == nil {
			a.bytes += n
		}
	})
	a.changeLocked()
}

// reject closes a connection that the program cannot get, or puts it back if a signal is why.
func (a *acceptor) reject(conn *tcpip.Conn, errno unix.Errno) {
	if errno == unix.EINTR {
		a.putBack(conn)
		return
	}
	conn.Close() // as the kernel does
}

// accept implements socket.
func (t *stream) accept(c *call, flags int) answer {
	if flags&^(unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC) != 0 {
		return failed(unix.EINVAL)
	}
	t.mu.Lock()
	a := t.acceptor
	t.mu.Unlock()
	if a == nil {
		return failed(unix.EINVAL)
	}
	now := a.acceptNow(c, flags)
	if now.errno != unix.EAGAIN || c.isNonblocking() {
		return now
	}
	return c.wait(func(cancel <-chan struct{}) answer { return a.await(c, flags, cancel) })
}

// acceptNow accepts a connection, or fails with EAGAIN.
func (a *acceptor) acceptNow(c *call, flags int) answer {
	if !c.s.listener.isValid(c.id) {
		return isSent
	}
	conn, _, err := a.take(c.drain)
	switch {
	case errors.Is(err, errNonePending):
		return failed(unix.EAGAIN)
	case err != nil:
		return failed(errnoOf(err))
	}
	return a.give(c, conn, flags)
}

// drain removes bytes from a listening socket of the program, which shows that connections wait.
func (c *call) drain(n int) {
	fd, err := fetch(c.tid, c.arg(0))
	if err != nil {
		return // it stays ready to read
	}
	defer unix.Close(fd)
	unix.Recvfrom(fd, make([]byte, n), unix.MSG_DONTWAIT) //nolint:errcheck // it stays ready to read then
}

// await is the answer of an accept that waits.
func (a *acceptor) await(c *call, flags int, cancel <-chan struct{}) answer {
	timeout := deadline(a.t.opts.timeout(unix.SO_RCVTIMEO))
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if now := a.acceptNow(c, flags); now.errno != unix.EAGAIN {
			return now
		}
		select {
		case <-changed:
		case <-timeout:
			return failed(unix.EAGAIN)
		case <-cancel:
			return isSent
		}
	}
}

// give makes a socket of a connection and gives it to the program.
func (a *acceptor) give(c *call, conn *tcpip.Conn, flags int) answer {
	end, theirs, inode, err := newPair(unix.SOCK_STREAM, flags)
	if err != nil {
		a.putBack(conn)
		return failed(errnoOf(err))
	}
	defer unix.Close(theirs)
	t := &stream{core: core{s: c.s, inode: inode, inet6: a.t.inet6, end: end, fd: -1}, beforeMarker: noMarker, reported: true}
	t.opts.copyFrom(&a.t.opts)
	t.mu.Lock()
	t.connectedLocked(conn)
	t.mu.Unlock()
	if c.args[1] != 0 {
		if errno := c.writeAddr(c.args[1], c.args[2], t.remote, t.inet6); errno != 0 {
			end.close()
			a.reject(conn, errno)
			return failed(errno)
		}
	}
	given := c.give(t, &t.core, theirs, flags, t.runAccepted)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd < 0 { // it was not given
		a.putBack(conn)
	}
	return given
}

// runAccepted is the goroutine of a socket that accept has returned.
func (t *stream) runAccepted() {
	t.s.tasks.Go(t.copyIn) // until the connection ends
	t.run()
}
