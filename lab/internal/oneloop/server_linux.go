package oneloop

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// Server is the address to connect to.
type Server struct {
	addr   unix.Sockaddr
	family int
}

// ParseServer parses an IP address and a port.
func ParseServer(addr string) (Server, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return Server{}, fmt.Errorf("load: the server's address %q is none: %w", addr, err)
	}
	if ip := a.Addr().Unmap(); ip.Is4() {
		return Server{&unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, unix.AF_INET}, nil
	}
	var zone uint32
	if name := a.Addr().Zone(); name != "" {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return Server{}, fmt.Errorf("load: the server's address %s has a zone that this machine has not: %w", addr, err)
		}
		zone = uint32(link.Index)
	}
	return Server{&unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone}, unix.AF_INET6}, nil
}

// Socket creates a non-blocking socket for a connection to the server.
func (s Server) Socket() (int, error) {
	return unix.Socket(s.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// Connect starts a connection. When the descriptor is writable, Connected returns the outcome.
func (s Server) Connect(fd int) error {
	if err := unix.Connect(fd, s.addr); err != unix.EINPROGRESS {
		return err
	}
	return nil
}

// Connected returns the outcome of Connect.
func Connected(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	return err
}
