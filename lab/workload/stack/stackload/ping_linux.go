package stackload

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
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
	poll   *oneloop.Poll
	socket *stampSocket

	base        uint16    // identifier of flow 0
	period      float64   // ns between pings
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
	poll, err := oneloop.NewPoll()
	if err == nil {
		if err = poll.Add(socket.fd, 0); err != nil {
			poll.Close()
		}
	}
	if err != nil {
		socket.close()
		return nil, err
	}
	p := &pinger{Config: c, State: s, poll: poll, socket: socket, base: uint16(rand.Uint32()), period: 1e9 / c.Rate,
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

func (p *pinger) close() {
	p.poll.Close()
	p.socket.close()
}

// due returns the time at which ping k is due.
func (p *pinger) due(k int64) int64 {
	if p.Together {
		k -= k % int64(p.Flows)
	}
	return p.Start.Load() + int64(float64(k)*p.period)
}

// run sends pings until the window is over, and waits for the last replies.
func (p *pinger) run() {
	defer close(p.Ended)
	runtime.LockOSThread()
	now := p.Clock.Now()
	p.Connected.Store(now)
	p.Begin(now+startDelay, p.Duration)
	close(p.Ready)
	for !p.Stop.Load() {
		now := p.Clock.Now()
		p.Open(now)
		if now >= p.Window.To.Load() {
			break
		}
		p.sendDue(now)
		next := p.due(p.nextPing)
		p.wait(p.Until(min(next, now+oneloop.Nap)), p.due(p.nextPing+1))
	}
	p.endedEarly = p.Clock.Now() < p.Window.To.Load()
	end := min(p.Window.To.Load(), p.Clock.Now())
	p.Window.To.Store(end)
	p.Shut(end)
	close(p.Over)
	p.sendDue(end - 1) // includes all pings that were due
	for !p.Stop.Load() && p.windowPings > 0 {
		p.wait(p.Clock.Now()+min(oneloop.Nap, max(int64(p.Timeout)/20, 1e6)), 0)
	}
	p.lost += int64(p.windowPings) // if the run was stopped
}

// wait receives replies until the given time, and counts pings without a reply in time as lost.
func (p *pinger) wait(until, then int64) {
	p.poll.Wait(p.Clock, until, then, func(int, uint32) { p.receive() })
	for now := p.Clock.Now(); p.oldest < p.nextPing; p.oldest++ {
		a := p.slot(p.oldest)
		if a.waiting && now-a.dueAt <= int64(p.Timeout) {
			return
		}
		if a.waiting {
			p.countLost(a)
		}
	}
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

// sendDue sends the pings that are due by now.
func (p *pinger) sendDue(now int64) {
	for ; p.due(p.nextPing) <= now; p.nextPing++ {
		if p.nextPing-p.oldest == int64(len(p.slots)) {
			if a := p.slot(p.oldest); a.waiting {
				p.countLost(a)
			}
			p.oldest++
		}
		p.send(p.nextPing)
	}
}

// send sends ping k.
func (p *pinger) send(k int64) {
	a := p.slot(k)
	*a = awaited{number: k, dueAt: p.due(k), waiting: true}
	a.inWindow = p.Window.Holds(a.dueAt)
	binary.BigEndian.PutUint16(p.packet[4:], p.base+uint16(k%int64(p.Flows)))
	binary.BigEndian.PutUint16(p.packet[6:], uint16(k/int64(p.Flows)))
	binary.BigEndian.PutUint64(p.packet[wire.ICMPHeader+len(p.magic):], uint64(k))
	binary.BigEndian.PutUint16(p.packet[2:], 0)
	binary.BigEndian.PutUint16(p.packet[2:], wire.Sum{}.Add(p.packet).Checksum())
	late := p.Clock.Now() - a.dueAt
	p.Worst.Store(max(p.Worst.Load(), late))
	if a.inWindow {
		p.offered++
		p.windowPings++
		p.lateness.Record(late)
	}
	a.writtenAt = realtime()
	_, errno := raw.Write(int32(p.socket.fd), p.packet)
	if unreachable(errno) { // an ICMP error for an earlier ping
		p.fails.Add(kindUnreachable, 1, "ping: %v", errno)
		a.writtenAt = realtime()
		_, errno = raw.Write(int32(p.socket.fd), p.packet)
	}
	switch {
	case errno == 0:
	case unreachable(errno):
		p.countLost(a)
	default: // a queue on this machine was full, which is no loss by the stack
		p.fails.Add(kindSend, 1, "ping %d: %v", k, errno)
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

// receive reads the time stamps of sending, which are available before the replies, then the
// replies.
func (p *pinger) receive() {
	p.readStamps()
	for {
		packet, stamp, errno := p.socket.receive(0)
		switch {
		case errno == syscall.EINTR:
		case unreachable(errno):
			p.fails.Add(kindUnreachable, 1, "ping: %v", errno)
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
			p.fails.Add(kindUnreachable, 1, "ping: %v", why)
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
		p.fails.Add(kindBody, 1, "a reply to ping %d, which is not under way", k)
		return
	}
	a := p.slot(k)
	switch {
	case !m.ChecksumOK():
		p.fails.Add(kindChecksum, 1, "the reply to ping %d has a wrong checksum", k)
	case !a.waiting && p.Clock.Now()-a.dueAt <= int64(p.Timeout):
		p.fails.Add(kindTwice, 1, "a second reply to ping %d", k)
	case !a.waiting: // too late
	case m.EchoID() != p.base+uint16(k%int64(p.Flows)) || m.EchoSeq() != uint16(k/int64(p.Flows)) || !bytes.Equal(m.Body()[MinSize:], p.packet[wire.ICMPHeader+MinSize:]):
		p.fails.Add(kindBody, 1, "the reply to ping %d differs from the request", k)
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
			p.warmMessages++
		}
		return
	}
	p.messages++
	if a.sentAt == 0 {
		p.unstamped++
	}
	p.times.Record(stamp - from)
}
