package tcpip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/tcpip/link"
)

// hostOfConns is the common part of the kernel's and the stack's hosts.
type hostOfConns struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	listen func(network, address string) (net.Listener, error)
	packet func(network, address string) (net.PacketConn, error)
	silent string // TCP address that does not answer SYNs
}

// kernelOf returns the kernel's host, by package net.
func kernelOf(t *testing.T) hostOfConns {
	return hostOfConns{new(net.Dialer).DialContext, net.Listen, net.ListenPacket, fullListener(t)}
}

// fullListener returns a TCP address whose accept queue is full: SYNs to it are not answered.
func fullListener(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	a, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", a.(*syscall.SockaddrInet4).Port)
	for range 8 {
		c, err := net.DialTimeout("tcp", address, 50*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("a full accept queue accepts connections on this system")
	return ""
}

// stackOf returns a stack's host. No host on its link has the address 10.0.0.77.
func stackOf(t *testing.T) hostOfConns {
	a, _ := hosts(t, link.PairConfig{})
	return hostOfConns{a.DialContext, a.Listen, a.ListenPacket, "10.0.0.77:80"}
}

// pair is a connection and its other end.
func (h hostOfConns) pair(t *testing.T) (c, d conn) {
	l, err := h.listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x, err := h.dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	y, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(); y.Close() })
	return x.(conn), y.(conn)
}

// conn is what *net.TCPConn and *Conn have in common.
type conn interface {
	net.Conn
	CloseWrite() error
	SetLinger(int) error
}

// comparedErrors are the errors that kind compares with by errors.Is.
var comparedErrors = []error{io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled, net.ErrWriteToConnected, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
	syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EMSGSIZE, syscall.ENOTCONN, syscall.EINVAL, syscall.EDESTADDRREQ}

// kind describes the properties of an error that an application can examine: what it matches,
// whether it is a timeout, and the fields of an OpError. For a nil error it is "none".
func kind(err error) string {
	if err == nil {
		return "none"
	}
	var is []string
	var of *net.OpError
	errors.As(err, &of)
	// the error of a dial that reaches its deadline matches one of two in package net, depending on
	// whether the timer of the context or that of the socket fires first: they count as the same
	dial := of != nil && of.Op == "dial"
	for _, k := range comparedErrors {
		switch {
		case !errors.Is(err, k):
		case dial && (k == os.ErrDeadlineExceeded || k == context.DeadlineExceeded):
			is = append(is, "deadline exceeded")
		default:
			is = append(is, k.Error())
		}
	}
	is = slices.Compact(is)
	if of != nil {
		is = append(is, "an OpError of "+of.Op+" "+of.Net, fmt.Sprintf("with source %t and address %t", of.Source != nil, of.Addr != nil))
	}
	var timed net.Error
	if errors.As(err, &timed) {
		is = append(is, fmt.Sprintf("timeout %t", timed.Timeout()))
	}
	return strings.Join(is, ", ")
}

// expiring returns a context whose deadline is in d, or has passed if d is negative.
func expiring(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// mustListen, mustPacket and mustDialUDP prepare a failure: if they cannot, the test fails.
func (h hostOfConns) mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := h.listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (h hostOfConns) mustPacket(t *testing.T) net.PacketConn {
	t.Helper()
	p, err := h.packet("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h hostOfConns) mustDialUDP(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := h.dial(t.Context(), "udp", address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// failures has the failures to compare, by name. Each function returns the error of the operation
// in its name.
var failures = map[string]func(t *testing.T, h hostOfConns) error{
	"dial a closed port": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcp", "127.0.0.1:1")
		return err
	},
	"dial the broadcast address": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcp", "255.255.255.255:80")
		return err
	},
	"dial without a port": func(t *testing.T, h hostOfConns) error { _, err := h.dial(t.Context(), "tcp", "127.0.0.1"); return err },
	"dial an unknown port": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcp", "127.0.0.1:99999")
		return err
	},
	"dial an unknown network": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcq", "127.0.0.1:1")
		return err
	},
	"dial until the deadline": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(expiring(t, 30*time.Millisecond), "tcp", h.silent)
		return err
	},
	"dial after the deadline": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(expiring(t, -1), "tcp", h.silent)
		return err
	},
	"dial until the context is cancelled": func(t *testing.T, h hostOfConns) error {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		_, err := h.dial(ctx, "tcp", h.silent)
		return err
	},
	"dial with a cancelled context": func(t *testing.T, h hostOfConns) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := h.dial(ctx, "tcp", "127.0.0.1:1")
		return err
	},
	"listen on an address in use": func(t *testing.T, h hostOfConns) error {
		l := h.mustListen(t)
		defer l.Close()
		_, err := h.listen("tcp", l.Addr().String())
		return err
	},
	"listen on another host's address": func(t *testing.T, h hostOfConns) error { _, err := h.listen("tcp", "192.0.2.1:80"); return err },
	"listen on an unknown network":     func(t *testing.T, h hostOfConns) error { _, err := h.listen("tcq", "127.0.0.1:0"); return err },
	"Accept of a closed listener": func(t *testing.T, h hostOfConns) error {
		l := h.mustListen(t)
		l.Close()
		_, err := l.Accept()
		return err
	},
	"close a listener twice": func(t *testing.T, h hostOfConns) error {
		l := h.mustListen(t)
		l.Close()
		return l.Close()
	},
	"read a closed connection":          func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.Close(); return readOne(c) },
	"write to a closed connection":      func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.Close(); return writeOne(c) },
	"close a connection twice":          func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.Close(); return c.Close() },
	"CloseWrite on a closed connection": func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.Close(); return c.CloseWrite() },
	"SetDeadline on a closed connection": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		c.Close()
		return c.SetDeadline(time.Time{})
	},
	"SetLinger on a closed connection": func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.Close(); return c.SetLinger(1) },
	"read a connection that is closed meanwhile": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		time.AfterFunc(20*time.Millisecond, func() { c.Close() })
		return readOne(c)
	},
	"read after the deadline": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		c.SetDeadline(time.Unix(1, 0))
		return readOne(c)
	},
	"write after the deadline": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		c.SetDeadline(time.Unix(1, 0))
		return writeOne(c)
	},
	"read until the deadline": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		return readOne(c)
	},
	"write until the deadline": func(t *testing.T, h hostOfConns) error {
		c, _ := h.pair(t)
		c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
	},
	"write after CloseWrite":         func(t *testing.T, h hostOfConns) error { c, _ := h.pair(t); c.CloseWrite(); return writeOne(c) },
	"read after the peer has closed": func(t *testing.T, h hostOfConns) error { c, d := h.pair(t); d.Close(); return readOne(c) },
	"read a connection that the peer reset": func(t *testing.T, h hostOfConns) error {
		c, d := h.pair(t)
		d.SetLinger(0)
		d.Close()
		return readOne(c)
	},
	"read a connection that the peer closed with unread bytes": func(t *testing.T, h hostOfConns) error {
		c, d := h.pair(t)
		c.Write([]byte("xx"))
		d.Read(make([]byte, 1))
		d.Close()
		return readOne(c)
	},
	"write to a connection that the peer reset": func(t *testing.T, h hostOfConns) error {
		c, d := h.pair(t)
		d.SetLinger(0)
		d.Close()
		return writeUntilError(c)
	},
	"write to a peer that has closed": func(t *testing.T, h hostOfConns) error {
		c, d := h.pair(t)
		d.Close()
		readOne(c)
		return writeUntilError(c)
	},
	"read after writing to a peer that has closed": func(t *testing.T, h hostOfConns) error {
		c, d := h.pair(t)
		d.Close()
		readOne(c)
		writeUntilError(c)
		return readOne(c)
	},
	"read from a closed UDP port": func(t *testing.T, h hostOfConns) error {
		c := h.mustDialUDP(t, "127.0.0.1:1")
		defer c.Close()
		writeOne(c)
		return readOne(c)
	},
	"read a closed UDP socket": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		_, _, err := p.ReadFrom(make([]byte, 1))
		return err
	},
	"read a UDP socket until the deadline": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		defer p.Close()
		p.SetDeadline(time.Now().Add(10 * time.Millisecond))
		_, _, err := p.ReadFrom(make([]byte, 1))
		return err
	},
	"write to a closed UDP socket": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		_, err := p.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9})
		return err
	},
	"SetReadDeadline on a closed UDP socket": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		return p.SetReadDeadline(time.Time{})
	},
	"listen for UDP on another host's address": func(t *testing.T, h hostOfConns) error {
		_, err := h.packet("udp", "192.0.2.1:80")
		return err
	},
	"close a UDP socket twice": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		return p.Close()
	},
	"write a datagram that is too large": func(t *testing.T, h hostOfConns) error {
		c := h.mustDialUDP(t, "127.0.0.1:9")
		defer c.Close()
		_, err := c.Write(make([]byte, 65508))
		return err
	},
	"WriteTo on a connected socket": func(t *testing.T, h hostOfConns) error {
		c := h.mustDialUDP(t, "127.0.0.1:9")
		defer c.Close()
		_, err := c.(net.PacketConn).WriteTo([]byte("x"), c.RemoteAddr())
		return err
	},
}

func readOne(c net.Conn) error {
	_, err := c.Read(make([]byte, 1))
	return err
}

func writeOne(c net.Conn) error {
	_, err := c.Write([]byte("x"))
	return err
}

// writeUntilError writes until that fails, and returns the error.
func writeUntilError(c net.Conn) (err error) {
	for err == nil {
		time.Sleep(5 * time.Millisecond)
		err = writeOne(c)
	}
	return err
}

// A Dial whose context has reached its deadline returns a timeout that also matches
// context.DeadlineExceeded.
func TestADialTimesOut(t *testing.T) {
	for _, d := range []time.Duration{-1, 30 * time.Millisecond} {
		_, err := stackOf(t).dial(expiring(t, d), "tcp", "10.0.0.77:80")
		var timed net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) || !errors.As(err, &timed) || !timed.Timeout() {
			t.Errorf("with %v left, a dial returned %v (%s), want context.DeadlineExceeded and a timeout", d, err, kind(err))
		}
	}
}

// The stack's errors have the same properties as those of package net over the kernel.
func TestErrorsAreTheKernels(t *testing.T) {
	kernel, own := kernelOf(t), stackOf(t)
	var names []string
	for name := range failures {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		want, got := failures[name](t, kernel), failures[name](t, own)
		if kind(got) != kind(want) {
			t.Errorf("%s\n   got %s (%v)\n  want the kernel's %s (%v)", name, kind(got), got, kind(want), want)
		}
	}
}
