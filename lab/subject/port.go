package subject

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// FreePort returns a port of host without a listener. It is below the default range of ephemeral
// ports, so that ten thousand outgoing connections do not take it before the server does.
func FreePort(host string) (int, error) {
	const low, high, tries = 20000, 32000, 50
	var last error
	for range tries {
		port := low + rand.IntN(high-low)
		if last = tryPort(net.ParseIP(host), port); last == nil {
			return port, nil
		}
		if !errors.Is(last, syscall.EADDRINUSE) && !errors.Is(last, syscall.EACCES) {
			break
		}
	}
	return 0, fmt.Errorf("there is no free port at %s: %w", host, last)
}

// tryPort binds a port for a moment and returns an error if that fails. No child may be forked in
// that moment: until it executes its program it would hold the port, and the server would find it
// in use.
func tryPort(ip net.IP, port int) error {
	if ip == nil {
		return errors.New("it is not an IP address such as 127.0.0.1 or ::1")
	}
	family, addr := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: port, Addr: [16]byte(ip.To16())})
	if v4 := ip.To4(); v4 != nil {
		family, addr = syscall.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: [4]byte(v4)}
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	return syscall.Bind(fd, addr)
}
