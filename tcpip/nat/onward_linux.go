package nat

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// synRetries is how often the SYN of a connection onward is repeated: for 31 s, about dialTimeout.
const synRetries = 4

// datagramQueue is the size of the receive queue of a UDP flow, in bytes. The limit of the system
// (net.core.rmem_max) holds too.
const datagramQueue = 1 << 20

// connectSocket returns a socket that is connected onward, or is being connected, for a guest that
// has sent to an address.
func (n *NAT) connectSocket(kind int, to netip.AddrPort) (fd int, err error) {
	to, ok := n.config.onward(to)
	if !ok {
		return 0, syscall.EACCES
	}
	family, at := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, at = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	fd, err = unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err = setOptions(fd, kind); err == nil {
		err = unix.Connect(fd, at)
	}
	if err != nil && err != unix.EINPROGRESS {
		unix.Close(fd) //nolint:errcheck // it is
		return 0, err
	}
	return fd, nil
}

// setOptions sets the options of a socket onward.
func setOptions(fd, kind int) error {
	if kind == unix.SOCK_DGRAM {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, datagramQueue)
	}
	if err := setStreamOptions(fd); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SYNCNT, synRetries)
}

// setStreamOptions sets the options that a net.Dialer sets: segments are sent at once, and a dead
// peer is found out.
func setStreamOptions(fd int) error {
	for _, o := range [...]struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return err
		}
	}
	return nil
}
