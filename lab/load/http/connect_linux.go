package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
)

// sockaddr is an IP address and port as the kernel takes them.
func sockaddr(addr string) (unix.Sockaddr, int, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, 0, fmt.Errorf("load: the server's address %q is none: %w", addr, err)
	}
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, unix.AF_INET, nil
	}
	var zone uint32
	if name := a.Addr().Zone(); name != "" {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return nil, 0, fmt.Errorf("load: the server's address %s has a zone that this machine has not: %w", addr, err)
		}
		zone = uint32(link.Index)
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone}, unix.AF_INET6, nil
}

// connectAll opens the connections of a run with keep-alive, some at a time.
func (l *loop) connectAll() error {
	if l.Close {
		return nil
	}
	progress, made := l.clock.Now(), int64(0)
	for begun := 0; l.opened < int64(len(l.conns)); {
		now := l.clock.Now()
		for ; begun < len(l.conns) && int64(begun)-l.opened < atOnce && l.dialing == nil; begun++ {
			l.connect(begun, now)
		}
		l.turnOnce(now + nap)
		if l.opened > made {
			progress, made = l.clock.Now(), l.opened
		}
		switch {
		case l.stop.Load():
			return context.Canceled
		case l.dialing != nil:
			return raw.DialError(l.addr, l.dialing)
		case now-progress > int64(raw.DialTimeout):
			return raw.DialError(l.addr, os.ErrDeadlineExceeded)
		}
	}
	return nil
}

// connect opens connection i. What it wants to send is tried at once: near servers have accepted by then.
func (l *loop) connect(i int, now int64) {
	c := &l.conns[i]
	fd, err := unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		l.notConnected(i, now, err)
		return
	}
	c.fd, c.state, c.since, c.hangup = int32(fd), connecting, now, false
	l.alive.Add(1)
	err = unix.Connect(fd, l.server)
	if err == nil || err == unix.EINPROGRESS {
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Fd: int32(i),
			Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET})
	}
	switch {
	case err != nil:
		l.notConnected(i, now, err)
	case c.wants:
		l.send(i)
	}
}

// made notes that connection i is there.
func (l *loop) made(i int, now int64) {
	c := &l.conns[i]
	l.opened++
	if l.start.Load() == 0 || l.window.Holds(now) {
		l.connects.Record(now - c.since)
	}
	if c.wants {
		c.connected, c.state = now, asking
		return
	}
	c.state = idle
}

// notConnected ends the attempt to open connection i.
func (l *loop) notConnected(i int, now int64, err error) {
	kind := kindConnect
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, own) {
			kind = kindLocal
		}
	}
	if l.start.Load() == 0 {
		l.dialing = err
	}
	l.fail(i, now, kind, "no connection: %v", err)
	if l.period == 0 {
		l.conns[i].state, l.conns[i].since = refused, now
	}
}

// completed finds out what became of an attempt to connect, and says whether the connection is there.
func (l *loop) completed(i int) bool {
	c, now := &l.conns[i], l.clock.Now()
	errno, err := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		l.notConnected(i, now, err)
		return false
	}
	l.made(i, now)
	return true
}
