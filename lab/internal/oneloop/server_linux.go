package oneloop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/raw"
)

// Server is the address to connect to.
type Server struct {
	Address string // an IP address and a port
	addr    unix.Sockaddr
	family  int
}

// The kinds of errors that several loads have.
const (
	KindConnect = "connect" // the connection could not be opened
	KindTimeout = "timeout" // not in time
	KindReset   = "reset"   // the server reset the connection
	KindClosed  = "closed"  // the server closed the connection unexpectedly
	KindLocal   = "local"   // no file descriptor, port or memory on this machine
)

// FindServer resolves target. It connects to it once if target is a name, to choose its address, or
// with probe, to show that it listens.
func FindServer(ctx context.Context, target string, probe bool) (Server, error) {
	if _, err := netip.ParseAddrPort(target); err == nil && !probe {
		return ParseServer(target)
	}
	c, err := raw.NewDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return Server{}, raw.DialError(target, err)
	}
	defer c.Close()
	return ParseServer(c.RemoteAddr().String())
}

// ParseServer parses an IP address and a port.
func ParseServer(addr string) (Server, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return Server{}, fmt.Errorf("load: the server's address %q is none: %w", addr, err)
	}
	if ip := a.Addr().Unmap(); ip.Is4() {
		return Server{addr, &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, unix.AF_INET}, nil
	}
	var zone uint32
	if name := a.Addr().Zone(); name != "" {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return Server{}, fmt.Errorf("load: the server's address %s has a zone that this machine has not: %w", addr, err)
		}
		zone = uint32(link.Index)
	}
	return Server{addr, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone}, unix.AF_INET6}, nil
}

// Error says why the server cannot be reached, and what to do.
func (s *Server) Error(err error) error {
	if errors.Is(err, unix.ETIMEDOUT) {
		err = os.ErrDeadlineExceeded
	}
	return raw.DialError(s.Address, err)
}

// Dial starts connection i to the server, without Nagle's algorithm, which would hold small
// segments back. The setting prepare, which may be nil, comes before. When the descriptor is
// writable, Connected returns the outcome.
func (s *State) Dial(i int, prepare func(fd int) error) (int32, error) {
	fd, err := unix.Socket(s.Server.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) //nolint:errcheck // cannot fail on a TCP socket
	if prepare != nil {
		err = prepare(fd)
	}
	if err == nil {
		if err = unix.Connect(fd, s.Server.addr); err == unix.EINPROGRESS {
			err = nil
		}
	}
	if err == nil {
		err = s.Poll.Add(fd, i)
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // the other error is returned
		return -1, err
	}
	return int32(fd), nil
}

// NotConnected notes that a connection could not be opened, which before the load ends the run. It
// returns the kind of the error.
func (s *State) NotConnected(err error) (kind string) {
	if s.Start.Load() == 0 && s.Err == nil {
		s.Err = s.Server.Error(err)
	}
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, own) {
			return KindLocal
		}
	}
	return KindConnect
}

// ErrorKind returns the kind of an error of an open connection.
func ErrorKind(errno syscall.Errno) string {
	switch errno {
	case syscall.EPIPE:
		return KindClosed
	case syscall.ETIMEDOUT:
		return KindTimeout
	}
	return KindReset
}

// Connected returns the outcome of Connect.
func Connected(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	return err
}
