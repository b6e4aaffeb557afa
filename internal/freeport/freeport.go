// Package freeport chooses TCP ports for servers that are given an address to listen on.
//
// Limitations: a port is chosen, not reserved. Within a process no port is chosen twice before all
// others were; another process may still take it first.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
)

// The ports are below the default range of ephemeral ports (32768 to 60999), so that ten thousand
// outgoing connections do not take one before the server does.
const (
	low   = 20000
	ports = 12000
	tries = 50
)

// chosen counts the choices of this process. It starts at a random number, so that two processes
// seldom choose the same ports.
var chosen atomic.Uint32

func init() { chosen.Store(rand.Uint32N(ports)) }

// Choose returns a port of host, an IP address, without a listener.
func Choose(host string) (int, error) {
	var last error
	for range tries {
		port := low + int(chosen.Add(1)%ports)
		if last = Try(host, port); last == nil {
			return port, nil
		}
		if !errors.Is(last, syscall.EADDRINUSE) && !errors.Is(last, syscall.EACCES) {
			break
		}
	}
	return 0, fmt.Errorf("there is no free port at %s: %w", host, last)
}

// Address returns host, an IP address, with a port that Choose returns: "127.0.0.1:20000".
func Address(host string) (string, error) {
	port, err := Choose(host)
	return net.JoinHostPort(host, strconv.Itoa(port)), err
}

// Try binds a port for a moment and returns an error if that fails: syscall.EADDRINUSE if the port
// has a listener. Try prevents this process from forking a child in that moment (syscall.ForkLock):
// until it executes its program, the child would hold the port, and the server would find it in
// use.
func Try(host string, port int) error {
	ip := net.ParseIP(host)
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
