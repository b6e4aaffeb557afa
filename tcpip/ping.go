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

// pinger waits for one echo.
type pinger struct {
	inbox
	s    *Stack
	dst  netip.Addr
	id   uint16
	text []byte
}

// pingMost is the largest amount of data that an echo carries.
const pingMost = wire.IPv4Largest - wire.IPv4Header - wire.ICMPHeader

// Ping asks a host whether it is there, with so many bytes of data, at most 65,507, and says how
// long the answer took. Errors are EHOSTUNREACH and its like, when somebody says so, and the
// context's. Any number may be under way, up to 65,536.
func (s *Stack) Ping(ctx context.Context, dst netip.Addr, size int) (time.Duration, error) {
	if size < 0 || size > pingMost || !dst.Is4() {
		return 0, opError("ping", "ip", syscall.EINVAL)
	}
	p := &pinger{s: s, dst: dst, text: make([]byte, size)}
	p.reader = newWaiter()
	for i := range p.text {
		p.text[i] = byte(rand.Uint32())
	}
	if err := s.sockets.addPing(p); err != nil {
		return 0, opError("ping", "ip", err)
	}
	defer p.Close() //nolint:errcheck // it is
	defer context.AfterFunc(ctx, func() { p.fail(ctx.Err()) })()
	begun := time.Now()
	if err := s.sendIP(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Dst: dst}, wire.AppendICMP(nil, wire.EchoRequest, 0, wire.Echo(p.id, 1), p.text)); err != nil {
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

// echoed takes an answer to whoever asked.
func (s *sockets) echoed(v wire.IPv4, m wire.ICMP) {
	s.mu.RLock()
	p := s.pings[m.ID()]
	s.mu.RUnlock()
	if p != nil && p.dst == v.Src() && bytes.Equal(p.text, m.Body()) {
		p.put(datagram{})
	}
}

// unechoed ends the wait for an echo that did not get there, and says whether somebody waits for
// it.
func (s *sockets) unechoed(dst netip.Addr, m wire.ICMP, err error) bool {
	s.mu.RLock()
	p := s.pings[m.ID()]
	s.mu.RUnlock()
	if p == nil || m.Type() != wire.EchoRequest || p.dst != dst {
		return false
	}
	p.fail(err)
	return true
}

// Close ends the wait.
func (p *pinger) Close() error {
	if p.close() {
		s := &p.s.sockets
		s.mu.Lock()
		delete(s.pings, p.id)
		s.mu.Unlock()
	}
	return nil
}
