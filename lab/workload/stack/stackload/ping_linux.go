package stackload

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/load"
	"weir/wire"
)

// maxUnderWay is the largest number of pings under way.
const maxUnderWay = 1 << 20

// pinger sends pings on a schedule and receives the replies on one locked thread. Ping k belongs to
// flow k modulo their number. Answered pings do not allocate.
type pinger struct {
	Config
	*oneloop.State
	socket *stampSocket

	base        uint16    // identifier of flow 0
	packet      []byte    // the next ping
	magic       [8]byte   // start of the payload; identifies the pings of this run
	nextPing    int64     // number of the next ping that becomes due
	oldest      int64     // number of the oldest ping that can be under way
	slots       []awaited // indexed by the lowest bits of the number
	windowPings int       // pings of the window under way
	counts
}

// awaited is a ping under way.
type awaited struct {
	number    int64
	dueAt     int64 // ns; due time
	writtenAt int64 // ns, CLOCK_REALTIME; time of the write to the socket
	sentAt    int64 // ns, CLOCK_REALTIME; kernel's time stamp of sending; 0: none
	waiting   bool  // not answered or lost
	inWindow  bool  // it was due in the window
}

func newPinger(c Config, s *oneloop.State) (work, error) {
	many := c.Rate*c.Timeout.Seconds() + float64(c.Flows)
	if many > maxUnderWay {
		return nil, load.UsageError(fmt.Sprintf("%g pings per second with a timeout of %v are more than can be under way: give a lower rate or a shorter timeout", c.Rate, c.Timeout))
	}
	socket, err := newStampSocket(c.Address)
	if err != nil {
		return nil, err
	}
	if err = s.Poll.Add(socket.fd, 0); err != nil {
		socket.close()
		return nil, err
	}
	p := &pinger{Config: c, State: s, socket: socket, base: uint16(rand.Uint32()),
		slots: make([]awaited, 1<<bits.Len(uint(many)+1024)), counts: newCounts()}
	binary.NativeEndian.PutUint64(p.magic[:], rand.Uint64())
	body := make([]byte, c.Size)
	copy(body, p.magic[:])
	for i := MinSize; i < len(body); i++ {
		body[i] = byte(i)
	}
	p.packet = wire.AppendICMP(nil, wire.EchoRequest, 0, 0, body)
	return p, nil
}

func (p *pinger) found() *counts { return &p.counts }

func (p *pinger) close() { p.socket.close() }

// offer implements work.
func (p *pinger) offer(ctx context.Context, ev load.Events) error {
	return p.Run(ctx, ev, p, 0, p.Duration)
}

// Connect implements oneloop.Loop: there are no connections.
func (p *pinger) Connect(int) {}

// Begun implements oneloop.Loop.
func (p *pinger) Begun() {
	pings := schedule.Schedule{Start: p.Start.Load(), Pattern: load.Staggered, N: p.Flows, Period: float64(p.Flows) * 1e9 / p.Rate}
	if p.Together {
		pings.Pattern = load.Together
	}
	p.Order = pings.Order()
}

// Work counts pings as lost. It reports whether there is more to do: never.
func (p *pinger) Work(now int64) bool {
	p.Check(now)
	return false
}

// Waiting reports whether pings of the window are under way.
func (p *pinger) Waiting(int64) bool { return p.windowPings > 0 }

// Leave counts the pings that are under way as lost, if the run was stopped.
func (p *pinger) Leave() { p.lost += int64(p.windowPings) }

// Check counts pings without a reply in time as lost.
func (p *pinger) Check(now int64) (next int64) {
	for ; p.oldest < p.nextPing; p.oldest++ {
		a := p.slot(p.oldest)
		if a.waiting && now-a.dueAt <= int64(p.Timeout) {
			break
		}
		if a.waiting {
			p.countLost(a)
		}
	}
	return now + min(oneloop.Nap, max(int64(p.Timeout)/20, 1e6))
}

// slot returns the slot of ping k.
func (p *pinger) slot(k int64) *awaited { return &p.slots[int(k)&(len(p.slots)-1)] }

// endWait ends the wait for a ping's reply.
func (p *pinger) endWait(a *awaited) {
	a.waiting = false
	if a.inWindow {
		p.windowPings--
	}
}

// countLost counts a ping as lost.
func (p *pinger) countLost(a *awaited) {
	p.endWait(a)
	p.Failed.Add(1)
	if a.inWindow {
		p.lost++
	}
}

// Send sends the next ping, of the given flow.
func (p *pinger) Send(_ int, at, _ int64) {
	k := p.nextPing
	if p.nextPing++; k-p.oldest == int64(len(p.slots)) {
		if a := p.slot(p.oldest); a.waiting {
			p.countLost(a)
		}
		p.oldest++
	}
	a := p.slot(k)
	*a = awaited{number: k, dueAt: at, waiting: true, inWindow: p.Window.Holds(at)}
	binary.BigEndian.PutUint16(p.packet[4:], p.base+uint16(k%int64(p.Flows)))
	binary.BigEndian.PutUint16(p.packet[6:], uint16(k/int64(p.Flows)))
	binary.BigEndian.PutUint64(p.packet[wire.ICMPHeader+len(p.magic):], uint64(k))
	binary.BigEndian.PutUint16(p.packet[2:], 0)
	binary.BigEndian.PutUint16(p.packet[2:], wire.Sum{}.Add(p.packet).Checksum())
	p.RecordLateness(a.dueAt, p.Clock.Now())
	if a.inWindow {
		p.Offered++
		p.windowPings++
	}
	a.writtenAt = realtime()
	_, errno := raw.Send(int32(p.socket.fd), p.packet)
	if unreachable(errno) { // an ICMP error for an earlier ping
		p.Failures.Add(kindUnreachable, 1, "ping: %v", errno)
		a.writtenAt = realtime()
		_, errno = raw.Send(int32(p.socket.fd), p.packet)
	}
	switch {
	case errno == 0:
	case unreachable(errno):
		p.countLost(a)
	default: // a queue on this machine was full, which is no loss by the stack
		p.Failures.Add(kindSend, 1, "ping %d: %v", k, errno)
		p.Failed.Add(1)
		p.endWait(a)
	}
}

// unreachable reports whether errno is an ICMP error for an earlier ping.
func unreachable(errno syscall.Errno) bool {
	switch errno {
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNREFUSED, syscall.EHOSTDOWN, syscall.ENOPROTOOPT, syscall.EPROTO:
		return true
	}
	return false
}

// Handle reads the time stamps of sending, which are available before the replies, then the
// replies.
func (p *pinger) Handle(int, uint32) {
	p.readStamps()
	for {
		packet, stamp, errno := p.socket.receive(0)
		switch {
		case errno == syscall.EINTR:
		case unreachable(errno):
			p.Failures.Add(kindUnreachable, 1, "ping: %v", errno)
		case errno != 0:
			return
		default:
			p.handleReply(packet, stamp)
		}
	}
}

// readStamps reads the available time stamps of sending.
func (p *pinger) readStamps() {
	for {
		packet, stamp, errno := p.socket.receive(unix.MSG_ERRQUEUE)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return
		}
		if why := p.socket.sendError; why != 0 { // an ICMP error, which uses the same queue
			p.Failures.Add(kindUnreachable, 1, "ping: %v", why)
			continue
		}
		at := bytes.Index(packet[:min(len(packet), 128)], p.magic[:])
		if at < 0 || len(packet) < at+MinSize {
			continue
		}
		if k := int64(binary.BigEndian.Uint64(packet[at+len(p.magic):])); k >= 0 && p.slot(k).number == k {
			p.slot(k).sentAt = stamp
		}
	}
}

// handleReply handles an ICMP message from the stack.
func (p *pinger) handleReply(packet []byte, stamp int64) {
	header, fault := wire.ParseIPv4(packet)
	if fault != 0 {
		return
	}
	m, fault := wire.ParseICMP(header.Payload())
	if fault != 0 || m.Type() != wire.EchoReply || !bytes.HasPrefix(m.Body(), p.magic[:]) || len(m.Body()) < MinSize {
		return // not of this run
	}
	k := int64(binary.BigEndian.Uint64(m.Body()[len(p.magic):]))
	if k < 0 || k >= p.nextPing || p.slot(k).number != k {
		p.Failures.Add(kindBody, 1, "a reply to ping %d, which is not under way", k)
		return
	}
	a := p.slot(k)
	switch {
	case !m.ChecksumOK():
		p.Failures.Add(kindChecksum, 1, "the reply to ping %d has a wrong checksum", k)
	case !a.waiting && p.Clock.Now()-a.dueAt <= int64(p.Timeout):
		p.Failures.Add(kindTwice, 1, "a second reply to ping %d", k)
	case !a.waiting: // too late
	case m.EchoID() != p.base+uint16(k%int64(p.Flows)) || m.EchoSeq() != uint16(k/int64(p.Flows)) || !bytes.Equal(m.Body()[MinSize:], p.packet[wire.ICMPHeader+MinSize:]):
		p.Failures.Add(kindBody, 1, "the reply to ping %d differs from the request", k)
	default:
		p.countReply(a, stamp)
	}
}

// countReply counts a ping whose reply was received at the given time of CLOCK_REALTIME.
func (p *pinger) countReply(a *awaited, stamp int64) {
	if a.sentAt == 0 {
		p.readStamps()
	}
	from := a.sentAt
	if from == 0 {
		from = a.writtenAt
	}
	p.endWait(a)
	p.Done.Add(1)
	if !a.inWindow {
		if a.dueAt < p.Window.From.Load() {
			p.WarmMessages++
		}
		return
	}
	p.Messages++
	if a.sentAt == 0 {
		p.unstamped++
	}
	p.Latency.Record(stamp - from)
}
