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
	errorAddrs
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	listen func(network, address string) (net.Listener, error)
	packet func(network, address string) (net.PacketConn, error)
	silent string // TCP address that does not answer SYNs
}

// errorAddrs are the addresses of one version of IP that failures need.
type errorAddrs struct {
	own        string // the loopback's
	group      string // a TCP address that no host has
	other      string // an address of another host, with a port
	maxPayload int    // of a datagram, in bytes
}

var errorFamilies = map[string]errorAddrs{
	"IPv4": {"127.0.0.1", "255.255.255.255:80", "192.0.2.1:80", 65507},
	"IPv6": {"::1", "[ff02::1]:80", "[2001:db8:99::1]:80", 65527},
}

// at returns an address of the loopback.
func (a errorAddrs) at(port string) string { return net.JoinHostPort(a.own, port) }

// kernelOf returns the kernel's host, by package net.
func kernelOf(t *testing.T, of errorAddrs) hostOfConns {
	return hostOfConns{of, new(net.Dialer).DialContext, net.Listen, net.ListenPacket, fullListener(t)}
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

// stackOf returns a stack's host. No host on its link has the address of silent.
func stackOf(t *testing.T, of errorAddrs) hostOfConns {
	if of.own == "::1" {
		a, _ := hosts6(t, RunChain, link.PairConfig{})
		return hostOfConns{of, a.DialContext, a.Listen, a.ListenPacket, "[2001:db8::77]:80"}
	}
	a, _ := hosts(t, link.PairConfig{})
	return hostOfConns{of, a.DialContext, a.Listen, a.ListenPacket, "10.0.0.77:80"}
}

// pair is a connection and its other end.
func (h hostOfConns) pair(t *testing.T) (c, d conn) {
	l, err := h.listen("tcp", h.at("0"))
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
	l, err := h.listen("tcp", h.at("0"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (h hostOfConns) mustPacket(t *testing.T) net.PacketConn {
	t.Helper()
	p, err := h.packet("udp", h.at("0"))
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
		_, err := h.dial(t.Context(), "tcp", h.at("1"))
		return err
	},
	"dial the broadcast address": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcp", h.group)
		return err
	},
	"dial without a port": func(t *testing.T, h hostOfConns) error { _, err := h.dial(t.Context(), "tcp", h.own); return err },
	"dial an unknown port": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcp", h.at("99999"))
		return err
	},
	"dial an unknown network": func(t *testing.T, h hostOfConns) error {
		_, err := h.dial(t.Context(), "tcq", h.at("1"))
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
		_, err := h.dial(ctx, "tcp", h.at("1"))
		return err
	},
	"listen on an address in use": func(t *testing.T, h hostOfConns) error {
		l := h.mustListen(t)
		defer l.Close()
		_, err := h.listen("tcp", l.Addr().String())
		return err
	},
	"listen on another host's address": func(t *testing.T, h hostOfConns) error { _, err := h.listen("tcp", h.other); return err },
	"listen on an unknown network":     func(t *testing.T, h hostOfConns) error { _, err := h.listen("tcq", h.at("0")); return err },
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
		c := h.mustDialUDP(t, h.at("1"))
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
		_, err := p.WriteTo([]byte("x"), &net.UDPAddr{IP: net.ParseIP(h.own), Port: 9})
		return err
	},
	"SetReadDeadline on a closed UDP socket": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		return p.SetReadDeadline(time.Time{})
	},
	"listen for UDP on another host's address": func(t *testing.T, h hostOfConns) error {
		_, err := h.packet("udp", h.other)
		return err
	},
	"close a UDP socket twice": func(t *testing.T, h hostOfConns) error {
		p := h.mustPacket(t)
		p.Close()
		return p.Close()
	},
	"write a datagram that is too large": func(t *testing.T, h hostOfConns) error {
		c := h.mustDialUDP(t, h.at("9"))
		defer c.Close()
		_, err := c.Write(make([]byte, h.maxPayload+1))
		return err
	},
	"WriteTo on a connected socket": func(t *testing.T, h hostOfConns) error {
		c := h.mustDialUDP(t, h.at("9"))
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
		h := stackOf(t, errorFamilies["IPv4"])
		_, err := h.dial(expiring(t, d), "tcp", h.silent)
		var timed net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) || !errors.As(err, &timed) || !timed.Timeout() {
			t.Errorf("with %v left, a dial returned %v (%s), want context.DeadlineExceeded and a timeout", d, err, kind(err))
		}
	}
}

// The stack's errors have the same properties as those of package net over the kernel.
func TestErrorsAreTheKernels(t *testing.T) {
	for family, of := range errorFamilies {
		t.Run(family, func(t *testing.T) { testErrorsAreTheKernels(t, of) })
	}
}

func testErrorsAreTheKernels(t *testing.T, of errorAddrs) {
	kernel, own := kernelOf(t, of), stackOf(t, of)
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
