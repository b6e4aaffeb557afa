package chat

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
)

// atOnce is how many connections are being made or on their way into their rooms at once: no server takes so few for a flood.
const atOnce = 16

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

// joinAll brings every member into its room and registers the idle ones, some at a time.
func (l *loop) joinAll() error {
	all := l.Members + l.Idle
	progress, made := l.clock.Now(), 0
	for begun := 0; l.joined < all; {
		for ; begun < all && begun-l.joined < atOnce && l.err == nil; begun++ {
			l.connect(begun)
		}
		now := l.clock.Now()
		l.turnOnce(now + nap)
		if l.joined > made {
			progress, made = now, l.joined
		}
		switch {
		case l.stop.Load():
			return l.cancelled()
		case l.err != nil:
			return l.err
		case now-progress > int64(max(raw.DialTimeout, l.timeout())):
			return fmt.Errorf("load: nobody could join for %v, after %d of %d: the server does not answer as one of IRC does", max(raw.DialTimeout, l.timeout()), l.joined, all)
		}
	}
	return nil
}

// connect opens the connection of member i.
func (l *loop) connect(i int) {
	m := &l.members[i]
	fd, err := unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		l.notConnected(i, err)
		return
	}
	m.fd, m.state = int32(fd), connecting
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) //nolint:errcheck // a TCP socket has it
	if err = unix.Connect(fd, l.server); err == nil || err == unix.EINPROGRESS {
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Fd: int32(i),
			Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET})
	}
	if err != nil {
		l.notConnected(i, err)
	}
}

func (l *loop) notConnected(i int, err error) {
	if errors.Is(err, unix.ETIMEDOUT) {
		err = os.ErrDeadlineExceeded
	}
	l.shut(i)
	if l.err == nil {
		l.err = raw.DialError(l.addr, err)
	}
}

// completed finds out what became of an attempt to connect, and introduces member i if its connection is there.
func (l *loop) completed(i int) bool {
	m := &l.members[i]
	errno, err := unix.GetsockoptInt(int(m.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		l.notConnected(i, err)
		return false
	}
	m.state = registering
	l.introduce(i)
	return m.fd >= 0
}

// introduce sends what registers member i.
func (l *loop) introduce(i int) {
	m := &l.members[i]
	var b strings.Builder
	if len(l.wanted(i)) > 0 {
		b.WriteString("CAP LS 302\r\n")
	}
	if l.Pass != "" {
		b.WriteString("PASS " + l.Pass + "\r\n")
	}
	fmt.Fprintf(&b, "NICK %s\r\nUSER %s 0 * :%s\r\n", m.nick, m.nick, m.nick)
	l.write(i, []byte(b.String()))
}

// wanted is the capabilities that member i asks for.
func (l *loop) wanted(i int) []string {
	switch {
	case i == len(l.members)-1:
		return append(slices.DeleteFunc(slices.Clone(l.Caps), isHistory), historyCaps...)
	case i >= l.Members:
		return nil
	}
	return slices.Clone(l.Caps)
}

// welcome is the end of member i's registration.
func (l *loop) welcome(i int, now int64) {
	m := &l.members[i]
	switch {
	case m.state != registering:
	case i == len(l.members)-1:
		l.joinReplay(i, now)
	case i >= l.Members:
		m.state = present
		l.joined++
	default:
		m.state = joining
		l.write(i, []byte("JOIN "+l.rooms[m.room].name+"\r\n"))
	}
}

// enter notes that member i is in its room.
func (l *loop) enter(i int) {
	m := &l.members[i]
	m.state = present
	l.rooms[m.room].here++
	l.joined++
	l.alive.Add(1)
}
