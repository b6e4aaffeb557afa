package serve

import (
	"net"
	"os"
	"syscall"
)

// ofSystem are errors of one connection that other systems do not have.
var ofSystem = []syscall.Errno{syscall.ENONET}

// begin begins a connection. Moved is nil for one that was accepted.
func (l *loop) begin(fd int, remote net.Addr, m *Moved) {
	l.lane.accepted.add(1)
	c := &conn{l: l, fd: fd, remote: remote}
	c.output.Store(m != nil) // by the run that handed it over
	c.timer = timer{place: never, of: c}
	for fd >= len(l.conns) {
		l.conns = append(l.conns, nil)
	}
	l.conns[fd] = c
	l.open++
	const edges = syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | epollEdge
	if l.poller.add(fd, edges) != nil { // the kernel has no room for one more
		c.close()
		l.pauseAccepting()
		return
	}
	l.watchIdle(c)
	l.call(c)
	switch {
	case l.work.handle != nil:
		startCoroutine(c, l.work.handle)
	case l.coroutines:
		startCoroutine(c, hostSession(&l.work, &l.o, l.lane, m))
	default:
		c.out.begin(m.unsent())
		startSession(c, l.work.opener(m))
	}
}

func (l *loop) pauseAccepting() {
	if l.listener < 0 || l.paused != 0 {
		return
	}
	l.strays = 0
	l.lane.pauses.add(1)
	l.poller.remove(l.listener)
	l.paused = l.now() + int64(acceptPause)
}

func (l *loop) resumeAccepting() {
	l.paused = 0
	if l.listener >= 0 && l.poller.add(l.listener, syscall.EPOLLIN|epollExclusive) != nil {
		l.paused = l.now() + int64(acceptPause)
	}
}

// stopAccepting leaves what waits in the listener's queue to the other loops and processes that
// share it.
func (l *loop) stopAccepting() {
	if l.listener >= 0 {
		l.poller.remove(l.listener)
		syscall.Close(l.listener)
		l.listener = -1
	}
	l.paused = 0
}

// fail ends the run of all loops: the listener is of no use any more.
func (l *loop) fail(err error) {
	l.failed = os.NewSyscallError("accept4", err)
	l.stopAccepting()
	l.cancel()
}

// address is sa as package net writes it.
func address(sa syscall.Sockaddr) net.Addr {
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return &net.TCPAddr{IP: append(net.IP(nil), sa.Addr[:]...), Port: sa.Port}
	case *syscall.SockaddrInet6:
		return &net.TCPAddr{IP: append(net.IP(nil), sa.Addr[:]...), Port: sa.Port}
	case *syscall.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return &net.UnixAddr{Net: "unix"}
}

// withDescriptor calls f with the descriptor of l, which stays l's.
func withDescriptor(l net.Listener, f func(fd int) error) error {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
