package wsload

import (
	"crypto/tls"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
	"weir/lab/internal/tlsclient"
	"weir/lab/workload/http/wsload/frame"
)

// The kinds of errors beside those of package oneloop. A failed message has one of them.
const (
	kindTLS      = "tls"      // the handshake failed, or a record is invalid
	kindUpgrade  = "upgrade"  // the server did not upgrade the connection
	kindClose    = "close"    // the server sent a Close frame
	kindEcho     = "echo"     // not the echo of the message, or of none
	kindProtocol = "protocol" // not WebSocket
	kindLost     = "lost"     // due on a connection that was lost before
)

// loop sends messages and receives them on one locked thread.
type loop struct {
	Config
	*oneloop.State
	tlsConfig *tls.Config // nil: ws://
	payloads  payloads
	op        frame.Opcode // of messages
	conns     []conn
	buffer    []byte
	encoded   []byte  // a frame
	freed     []int32 // connections that may send their next message in the closed loop

	isOpen   bool              // the loop is open
	schedule schedule.Schedule // of an open loop that has begun
	counts
}

// counts holds the figures of the loop beside oneloop.Counts.
type counts struct {
	connects, handshakeTimes, upgrades tally.Distribution

	secured             *tlsclient.Report // of the first connection; nil: none
	handshakes, resumed int64             // see tlsclient.Report

	sent, received, receivedBytes, pings, unclosed int64 // see Report
}

func newLoop(c Config, s *oneloop.State) *loop {
	l := &loop{Config: c, State: s, payloads: newPayloads(c.Size, c.Message), op: frame.Binary, conns: make([]conn, c.Connections), buffer: make([]byte, 256<<10),
		isOpen: c.Rate > 0, tlsConfig: c.tlsConfig(), counts: counts{connects: tally.NewDistribution(), handshakeTimes: tally.NewDistribution(), upgrades: tally.NewDistribution()}}
	if c.Text {
		l.op = frame.Text
	}
	for i := range l.conns {
		l.conns[i].fd = -1
	}
	return l
}

// close closes the sockets. It must be called after the run.
func (l *loop) close() {
	for i := range l.conns {
		l.closeSocket(i)
	}
}

// Leave ends the coroutines of unfinished handshakes, which belong to the loop's thread.
func (l *loop) Leave() {
	for i := range l.conns {
		if c := &l.conns[i]; c.state == handshaking {
			c.tls.Stop()
		}
	}
}

func (l *loop) closeSocket(i int) {
	c := &l.conns[i]
	if c.tls != nil {
		c.tls.Shut()
		c.tls = nil
	}
	if c.fd >= 0 {
		unix.Close(int(c.fd)) //nolint:errcheck // nothing is lost
	}
	c.fd = -1
}

// sayGoodbye closes the connections by Close frames, and waits at most a second for the server to
// close them too. It must be called after the run.
func (l *loop) sayGoodbye() {
	remaining := 0
	for i := range l.conns {
		if c := &l.conns[i]; c.state == open {
			c.state = closing
			l.write(i, frame.Close, []byte{1000 >> 8, 1000 & 0xff})
			if c.fd >= 0 {
				remaining++
			}
		}
	}
	for deadline := l.Clock.Now() + 1e9; remaining > 0 && l.Clock.Now() < deadline; {
		l.Poll.Wait(l.Clock, deadline, 0, func(i int, events uint32) {
			if c := &l.conns[i]; c.state == closing && c.fd >= 0 {
				if l.Handle(i, events); c.fd < 0 {
					remaining--
				}
			}
		})
	}
	l.unclosed = int64(remaining)
}

// Begun implements oneloop.Loop.
func (l *loop) Begun() {
	if l.isOpen {
		l.schedule = l.Config.schedule(l.Start.Load())
		l.Order = l.schedule.Order()
	}
	for i := range l.conns {
		c := &l.conns[i]
		if l.isOpen {
			c.next = l.schedule.First(i)
		} else if l.Echo {
			l.freed = append(l.freed, int32(i))
		}
		c.awaited, c.pending = c.next, c.next
	}
}

// after returns the moment that follows m on connection i; in the closed loop it has no time yet.
func (l *loop) after(i int, m schedule.Moment) schedule.Moment {
	if l.isOpen {
		return l.schedule.After(i, m)
	}
	return schedule.Moment{K: m.K + 1}
}

// Work starts the next messages of the closed loop, and reports whether more can be started.
func (l *loop) Work(now int64) bool {
	n := len(l.freed)
	for _, i := range l.freed[:n] {
		if c := &l.conns[i]; c.state == open && !l.IsOver {
			l.start(int(i), now)
		}
	}
	l.freed = l.freed[:copy(l.freed, l.freed[n:])]
	return len(l.freed) > 0
}

// start sends the next message of connection i of the closed loop.
func (l *loop) start(i int, now int64) {
	c := &l.conns[i]
	c.next.At, c.awaited.At, c.pending.At = now, now, now
	c.dueCount++
	if l.Window.Holds(now) {
		l.Offered++
	}
	l.sendNext(i)
}

// Send sends the message of connection i that was due at the given time, or leaves it until the
// socket has room.
func (l *loop) Send(i int, at, now int64) {
	if l.Window.Holds(at) {
		l.Offered++
	}
	c := &l.conns[i]
	c.dueCount++
	switch {
	case c.state != open:
		l.abandon(i, now, kindLost, "its connection was lost before")
	case len(c.out) > 0:
		if l.Window.Holds(at) {
			l.Behind++
		}
	default:
		l.RecordLateness(at, now)
		l.sendNext(i)
	}
}

// Finish implements oneloop.Loop.
func (l *loop) Finish(int64) {}

// Waiting implements oneloop.Loop: it reports whether echoes are awaited.
func (l *loop) Waiting(int64) bool { return l.unfinished() > 0 }

// unfinished counts the messages that are due and neither answered nor failed.
func (l *loop) unfinished() (n int64) {
	for i := range l.conns {
		n += int64(l.conns[i].dueCount - l.conns[i].pending.K)
	}
	return n
}

// Check implements oneloop.Loop: it counts the messages that are not answered in time.
func (l *loop) Check(now int64) (next int64) {
	timeout := int64(l.timeout())
	for i := range l.conns {
		for c := &l.conns[i]; c.pending.K < c.dueCount && now-c.pending.At > timeout; {
			l.failPending(i, now, oneloop.KindTimeout, "no echo within "+l.timeout().String())
		}
	}
	return now + min(oneloop.Nap, max(timeout/20, 1e6))
}
