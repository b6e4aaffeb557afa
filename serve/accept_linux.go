package serve

import (
	"net"
	"os"
	"syscall"
)

// systemAcceptErrors are errors of one connection that only Linux has.
var systemAcceptErrors = []syscall.Errno{syscall.ENONET}

// open adds a connection to the loop. m is nil for an accepted connection.
func (l *loop) open(fd int, remote net.Addr, m *MovedConn) {
	l.counters.accepted.add(1)
	c := &conn{loop: l, fd: fd, remote: remote}
	c.hasOutput.Store(m != nil) // the run that handed it over may have written
	c.timer = timer{index: unset, conn: c}
	for fd >= len(l.conns) {
		l.conns = append(l.conns, nil)
	}
	l.conns[fd] = c
	l.openConns++
	const edges = syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | epollEdge
	if l.poller.add(fd, edges) != nil { // the kernel has no room for another registration
		c.close()
		l.pauseAccepting()
		return
	}
	l.watchIdle(c)
	l.noteCall(c)
	switch {
	case l.service.handle != nil || l.service.respond != nil:
		startHandler(c, l.service.handle)
	case l.useCoroutines:
		startHandler(c, hostSession(&l.service, &l.options, l.counters, m))
	default:
		c.outbox.preload(m.unsent())
		startSession(c, l.service.opener(m))
	}
}

func (l *loop) pauseAccepting() {
	if l.listenerFD < 0 || l.resumeAcceptAt != 0 {
		return
	}
	l.acceptErrors = 0
	l.counters.acceptPauses.add(1)
	l.poller.remove(l.listenerFD)
	l.resumeAcceptAt = l.now() + int64(acceptPause)
}

func (l *loop) resumeAccepting() {
	l.resumeAcceptAt = 0
	if l.listenerFD >= 0 && l.poller.add(l.listenerFD, syscall.EPOLLIN|epollExclusive) != nil {
		l.resumeAcceptAt = l.now() + int64(acceptPause)
	}
}

// stopAccepting closes this loop's listener. Connections in its queue are left to the other loops
// and processes that share it.
func (l *loop) stopAccepting() {
	if l.listenerFD >= 0 {
		l.poller.remove(l.listenerFD)
		syscall.Close(l.listenerFD)
		l.listenerFD = -1
	}
	l.resumeAcceptAt = 0
}

// failAccept stops all loops of the run: the listener is unusable.
func (l *loop) failAccept(err error) {
	l.listenerErr = os.NewSyscallError("accept4", err)
	l.stopAccepting()
	l.stopAll()
}

// address converts sa to the address types of package net.
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

// withDescriptor calls f with the descriptor of l, which l keeps.
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
