package tcpip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

func dial(t *testing.T, s *Stack, network, address string) net.Conn {
	t.Helper()
	c, err := s.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestDatagramsOfAllSizesArrive(t *testing.T) { ways(t, testDatagramsOfAllSizesArrive) }

func testDatagramsOfAllSizesArrive(t *testing.T, run Run) {
	a, b := hostsBy(t, run, link.PairConfig{})
	in, err := b.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	// beyond 1,472 bytes they are fragmented and reassembled
	for _, size := range []int{0, 1, 1472, 1473, 8000, 65507} {
		c := dial(t, a, "udp", "10.0.0.2:53")
		sent := bytes.Repeat([]byte{byte(size)}, size)
		if _, err := c.Write(sent); err != nil {
			t.Fatalf("sending %d bytes: got error %v, want none", size, err)
		}
		p := make([]byte, 65536)
		n, from, err := in.ReadFrom(p)
		if err != nil || !bytes.Equal(p[:n], sent) || from.String() != c.LocalAddr().String() {
			t.Fatalf("a datagram of %d bytes: got %d bytes from %v, error %v; want the same bytes from %v", size, n, from, err, c.LocalAddr())
		}
		if _, err := in.WriteTo(p[:n], from); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(p); err != nil || n != size {
			t.Fatalf("the answer of %d bytes: got %d bytes, error %v; want the same number", size, n, err)
		}
	}
}

func TestErrorsAreThoseOfNet(t *testing.T) { ways(t, testErrorsAreThoseOfNet) }

func testErrorsAreThoseOfNet(t *testing.T, run Run) {
	a, b := hostsBy(t, run, link.PairConfig{})
	if _, err := a.Dial("tcp", "10.0.0.2:81"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialing a closed port: got error %v, want ECONNREFUSED", err)
	}
	c := dial(t, a, "udp", "10.0.0.2:81")
	c.Write([]byte("x")) //nolint:errcheck // the answer tells
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("reading after a datagram to a port without a socket: got error %v, want ECONNREFUSED", err)
	}
	if _, err := a.Dial("tcp", "192.0.2.1:81"); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("dialing without a route: got error %v, want ENETUNREACH", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.DialContext(ctx, "tcp", "10.0.0.77:81"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialing an address without a host: got error %v, want the context's DeadlineExceeded", err)
	}
	if _, err := b.Listen("tcp", "10.0.0.1:80"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("listening at another host's address: got error %v, want EADDRNOTAVAIL", err)
	}
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Listen("tcp", ":80"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listening twice at one port: got error %v, want EADDRINUSE", err)
	}
	c = dial(t, a, "tcp", "10.0.0.2:80")
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("unread")) //nolint:errcheck // the test checks its effect
	for d.(*Conn).buffered() == 0 {
		time.Sleep(time.Millisecond)
	}
	d.Close()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading after the peer closed with unread data: got error %v, want ECONNRESET (RFC 2525, section 2.17)", err)
	}
	b.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed stack: got error %v, want net.ErrClosed", err)
	}
}

func (c *Conn) buffered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tcp.Buffered()
}

func TestPingsAreAnswered(t *testing.T) { ways(t, testPingsAreAnswered) }

func testPingsAreAnswered(t *testing.T, run Run) {
	a, _ := hostsBy(t, run, link.PairConfig{})
	for _, dst := range []string{"10.0.0.2", "10.0.0.1", "127.0.0.1", "127.1.2.3"} {
		for _, size := range []int{0, 56, 5000} {
			if _, err := a.Ping(t.Context(), netip.MustParseAddr(dst), size); err != nil {
				t.Errorf("pinging %s with %d bytes: got error %v, want a reply", dst, size, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := a.Ping(ctx, netip.MustParseAddr("10.0.0.99"), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("pinging an address without a host: got error %v, want the context's DeadlineExceeded", err)
	}
}

func TestTheStackTalksToItself(t *testing.T) { ways(t, testTheStackTalksToItself) }

func testTheStackTalksToItself(t *testing.T, run Run) {
	a, _ := hostsBy(t, run, link.PairConfig{})
	l, err := a.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	for _, dst := range []string{"127.0.0.1:80", "10.0.0.1:80"} {
		c := dial(t, a, "tcp", dst)
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("to myself "), 100_000)
		go func() { c.Write(sent); c.(*Conn).CloseWrite() }()
		if got, err := io.ReadAll(d); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%s: got %d bytes, error %v; want the %d bytes that were sent", dst, len(got), err, len(sent))
		}
		d.Close()
	}
}

// A raw socket receives the packets of a protocol or EtherType that the stack does not know.
func TestRawSocketsExchangeUnknownProtocols(t *testing.T) {
	ways(t, testRawSocketsExchangeUnknownProtocols)
}

func testRawSocketsExchangeUnknownProtocols(t *testing.T, run Run) {
	a, b := hostsBy(t, run, link.PairConfig{})
	out, err := a.ListenIP(89)
	if err != nil {
		t.Fatal(err)
	}
	in, err := b.ListenIP(89)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteTo([]byte("hello"), &net.IPAddr{IP: net.IPv4(10, 0, 0, 2)}); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, from, err := in.ReadFrom(p); err != nil || string(p[:n]) != "hello" || from.String() != "10.0.0.1" {
		t.Errorf("the raw socket: got %q from %v, error %v; want %q from 10.0.0.1", p[:n], from, err, "hello")
	}
	eout, err := a.ListenEther(0x88b5)
	if err != nil {
		t.Fatal(err)
	}
	ein, err := b.ListenEther(0x88b5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eout.WriteTo([]byte("frame"), EtherAddr{MAC: wire.Broadcast}); err != nil {
		t.Fatal(err)
	}
	if n, from, err := ein.ReadFrom(p); err != nil || string(p[:n]) != "frame" || from != eout.LocalAddr() {
		t.Errorf("the frame socket: got %q from %v, error %v; want %q from %v", p[:n], from, err, "frame", eout.LocalAddr())
	}
}
