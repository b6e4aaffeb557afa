package tcpip

import (
	"bytes"
	"context"
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

// Ping sends an echo request with size bytes of data, at most 65,507, or 65,527 by IPv6, and
// returns the round-trip time. Its errors are the context's, and EHOSTUNREACH and similar from ICMP
// errors. At most 65,536 pings may be in flight.
func (s *Stack) Ping(ctx context.Context, dst netip.Addr, size int) (time.Duration, error) {
	dst = s.canonicalAddr(dst)
	if size < 0 || !dst.IsValid() || size > maxPayload(dst)-wire.ICMPHeader || dst.IsUnspecified() || dst.IsMulticast() {
		return 0, opError("ping", "ip", syscall.EINVAL)
	}
	p := &pinger{s: s, dst: dst, payload: make([]byte, size)}
	p.readWaiter = newWaiter()
	for i := range p.payload {
		p.payload[i] = byte(s.random.Uint32())
	}
	if err := s.sockets.addPing(p); err != nil {
		return 0, opError("ping", "ip", err)
	}
	defer p.Close() //nolint:errcheck // it is
	defer context.AfterFunc(ctx, func() { p.setError(ctx.Err()) })()
	begun := time.Now()
	if err := p.send(); err != nil {
		return 0, opError("ping", "ip", err)
	}
	if _, err := p.read(); err != nil {
		return 0, opError("ping", "ip", err)
	}
	return time.Since(begun), nil
}

// send sends the echo request.
func (p *pinger) send() error {
	if p.dst.Is4() {
		return p.s.sendIP(outgoingPacket{protocol: wire.ICMPv4Protocol, dst: p.dst}, wire.AppendICMP(nil, wire.EchoRequest, 0, wire.EchoHeader(p.id, 1), p.payload))
	}
	_, _, src, ok := p.s.routeTo(p.dst, netip.Addr{})
	if !ok {
		return syscall.ENETUNREACH
	}
	return p.s.sendIP(outgoingPacket{protocol: wire.ICMPv6Protocol, src: src, dst: p.dst}, wire.AppendICMPv6(nil, src, p.dst, wire.EchoRequest6, 0, wire.EchoHeader(p.id, 1), p.payload))
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
	for p.id = uint16(p.s.random.Uint32()); s.pings[p.id] != nil; p.id++ {
	}
	s.pings[p.id] = p
	return nil
}

// deliverEchoReply gives an echo reply to the Ping that waits for it.
func (s *sockets) deliverEchoReply(from netip.Addr, id uint16, data []byte) {
	s.mu.RLock()
	p := s.pings[id]
	s.mu.RUnlock()
	if p != nil && p.dst == from && bytes.Equal(p.payload, data) {
		p.enqueue(datagram{})
	}
}

// failEcho ends the Ping whose echo request, of which start is the start, was not delivered. It
// reports whether there is one.
func (s *sockets) failEcho(dst netip.Addr, start []byte, err error) bool {
	request := byte(wire.EchoRequest)
	if dst.Is6() {
		request = byte(wire.EchoRequest6)
	}
	s.mu.RLock()
	p := s.pings[wire.ICMP(start).EchoID()]
	s.mu.RUnlock()
	if p == nil || start[0] != request || p.dst != dst {
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
