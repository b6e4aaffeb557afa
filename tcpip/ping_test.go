package tcpip

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// Many pings may be in flight at once, and each is ended by its own reply.
func TestConcurrentPingsAreAnswered(t *testing.T) {
	a, _ := hosts(t, link.PairConfig{Depth: 4096})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dst := netip.MustParseAddr("10.0.0.2")
	// have the neighbour known first: not all packets could wait for it
	if _, err := a.Ping(ctx, dst, 0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			if _, err := a.Ping(ctx, dst, n); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(a.sockets.pings); n != 0 {
		t.Errorf("got %d pings that still wait for a reply, want 0", n)
	}
}

// A ping is ended by its reply, an ICMP error about it or its context, and by nothing else.
func TestWhatEndsAPing(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(v wire.IPv4) []byte // ICMP error about the request
		want   error                    // nil: it was answered
	}{
		{"its answer", func(v wire.IPv4) []byte {
			m := wire.ICMP(v.Payload())
			return wire.AppendICMP(nil, wire.EchoReply, 0, m.RestOfHeader(), m.Body())
		}, nil},
		{"the answer to another", func(v wire.IPv4) []byte {
			m := wire.ICMP(v.Payload())
			return wire.AppendICMP(nil, wire.EchoReply, 0, m.RestOfHeader()+1<<16, m.Body())
		}, context.DeadlineExceeded},
		{"other data", func(v wire.IPv4) []byte {
			return wire.AppendICMP(nil, wire.EchoReply, 0, wire.ICMP(v.Payload()).RestOfHeader(), []byte("other data"))
		}, context.DeadlineExceeded},
		{"host unreachable", func(v wire.IPv4) []byte { return errorAbout(wire.HostUnreachable, 0, v) }, syscall.EHOSTUNREACH},
		{"an error about another host", func(v wire.IPv4) []byte { v[19] = 77; return errorAbout(wire.HostUnreachable, 0, v) }, context.DeadlineExceeded},
		{"nothing", func(wire.IPv4) []byte { return nil }, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				done := make(chan error, 1) // the ping's end
				go func() { _, err := s.Ping(ctx, bareAddr, 10); done <- err }()
				if answer := c.answer(h.next(time.Second)); answer != nil {
					h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, answer)
				}
				if err := <-done; !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestInvalidPingsAreRejected(t *testing.T) {
	a, _ := hosts(t, link.PairConfig{})
	for _, c := range []struct {
		dst  string
		size int
		want error
	}{{"10.0.0.2", 65508, syscall.EINVAL}, {"10.0.0.2", -1, syscall.EINVAL}, {"::", 8, syscall.EINVAL}, {"ff02::1", 8, syscall.EINVAL}, {"fd00::1", 8, syscall.ENETUNREACH}, {"192.0.2.1", 8, syscall.ENETUNREACH}} {
		if _, err := a.Ping(t.Context(), netip.MustParseAddr(c.dst), c.size); !errors.Is(err, c.want) {
			t.Errorf("%s with %d bytes: %v, want %v", c.dst, c.size, err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := a.Ping(ctx, netip.MustParseAddr("10.0.0.2"), 65507); err != nil {
		t.Errorf("pinging with the largest size: got error %v, want a reply", err)
	}
}
