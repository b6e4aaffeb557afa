package tcpip

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"weir/wire"
)

// pinger waits for one echo reply.
type pinger struct {
	receiveQueue
	s       *Stack
	dst     netip.Addr
	id      uint16
	payload []byte
}

// maxPingSize is the maximum of data in an echo request.
const maxPingSize = wire.IPv4Largest - wire.IPv4Header - wire.ICMPHeader

// Ping sends an echo request with size bytes of data, at most 65,507, and returns the round-trip
// time. Its errors are the context's, and EHOSTUNREACH and similar from ICMP errors. At most 65,536
// pings may be in flight.
func (s *Stack) Ping(ctx context.Context, dst netip.Addr, size int) (time.Duration, error) {
	if size < 0 || size > maxPingSize || !dst.Is4() {
		return 0, opError("ping", "ip", syscall.EINVAL)
	}
	p := &pinger{s: s, dst: dst, payload: make([]byte, size)}
	p.readWaiter = newWaiter()
	for i := range p.payload {
		p.payload[i] = byte(rand.Uint32())
	}
	if err := s.sockets.addPing(p); err != nil {
		return 0, opError("ping", "ip", err)
	}
	defer p.Close() //nolint:errcheck // it is
	defer context.AfterFunc(ctx, func() { p.setError(ctx.Err()) })()
	begun := time.Now()
	if err := s.sendIP(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Dst: dst}, wire.AppendICMP(nil, wire.EchoRequest, 0, wire.EchoHeader(p.id, 1), p.payload)); err != nil {
		return 0, opError("ping", "ip", err)
	}
	if _, err := p.read(); err != nil {
		return 0, opError("ping", "ip", err)
	}
	return time.Since(begun), nil
}

func (s *sockets) addPing(p *pinger) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if len(s.pings) > 1<<16-1 {
		return syscall.EADDRNOTAVAIL
	}
	for p.id = uint16(rand.Uint32()); s.pings[p.id] != nil; p.id++ {
	}
	s.pings[p.id] = p
	return nil
}

// deliverEchoReply gives an echo reply to the Ping that waits for it.
func (s *sockets) deliverEchoReply(v wire.IPv4, m wire.ICMP) {
	s.mu.RLock()
	p := s.pings[m.EchoID()]
	s.mu.RUnlock()
	if p != nil && p.dst == v.Src() && bytes.Equal(p.payload, m.Body()) {
		p.enqueue(datagram{})
	}
}

// failEcho ends the Ping whose echo request was not delivered, and reports whether there is one.
func (s *sockets) failEcho(dst netip.Addr, m wire.ICMP, err error) bool {
	s.mu.RLock()
	p := s.pings[m.EchoID()]
	s.mu.RUnlock()
	if p == nil || m.Type() != wire.EchoRequest || p.dst != dst {
		return false
	}
	p.setError(err)
	return true
}

// Close removes the pinger.
func (p *pinger) Close() error {
	if p.close() {
		s := &p.s.sockets
		s.mu.Lock()
		delete(s.pings, p.id)
		s.mu.Unlock()
	}
	return nil
}
