package chatload

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

const (
	// ns; from the last member's JOIN, which is sent to the others, to the first message
	startDelay  = int64(100e6)
	maxDispatch = 256 // messages sent before deliveries are read again
)

// room is a room of the generator.
type room struct {
	name        string
	prefix      []byte // prefix of a text in a line to the room's members
	memberCount int32  // number of members in it
}

// loop joins, sends and reads, on one locked thread. It does not allocate for an expected delivery.
type loop struct {
	Config
	*oneloop.State
	texts
	poll   *oneloop.Poll
	server oneloop.Server
	addr   string // IP address and port of the server
	// the members; then the idle connections; then one place for the member that reads a replay
	members      []member
	rooms        []room
	senderCount  int // number of sending members, the first ones
	buffer       []byte
	readySenders []int32 // closed loop: senders whose last message has been delivered
	replay       replay

	period      float64 // ns between messages; 0 in the closed loop
	nextMessage int64   // number of the next message to become due
	outstanding int64   // outstanding deliveries
	nextCheck   int64   // ns; time of the next check for timeouts
	joined      int     // connections that have completed joining
	counts
}

func newLoop(c Config, s *oneloop.State, addr string) (*loop, error) {
	server, err := oneloop.ParseServer(addr)
	if err != nil {
		return nil, err
	}
	poll, err := oneloop.NewPoll()
	if err != nil {
		return nil, err
	}
	l := &loop{Config: c, State: s, texts: newTexts(makeMark(rand.Uint64()), c.Size), poll: poll, server: server, addr: addr,
		senderCount: c.senders(), buffer: make([]byte, 256<<10), counts: newCounts()}
	if c.Rate > 0 {
		l.period = 1e9 / c.Rate
	}
	l.populate()
	return l, nil
}

// populate creates rooms and members.
func (l *loop) populate() {
	l.rooms = make([]room, l.Rooms)
	for r := range l.rooms {
		l.rooms[r].name = "#" + l.prefix() + string(appendLetters(nil, uint32(l.mark>>24)))[4:] + strconv.Itoa(r)
		l.rooms[r].prefix = []byte(" PRIVMSG " + l.rooms[r].name + " :")
	}
	l.members = make([]member, l.Members+l.Idle+1)
	for i := range l.members {
		m := &l.members[i]
		m.fd, m.nick = -1, l.prefix()+strconv.Itoa(i)
		if i >= l.Members {
			continue
		}
		m.room = int32(i % l.Rooms)
		m.expected = make([]uint32, (l.senderCount-int(m.room)+l.Rooms-1)/l.Rooms)
		if i < l.senderCount {
			m.compose(&l.texts, uint32(i), &l.rooms[m.room])
		}
	}
}

// close must be called after run has ended.
func (l *loop) close() {
	for i := range l.members {
		if fd := l.members[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // no data to lose
		}
	}
	l.poll.Close()
}

// run joins, offers the load until the window is over, and waits for the last deliveries.
func (l *loop) run() {
	defer close(l.Ended)
	runtime.LockOSThread()
	began := l.Clock.Now()
	if l.Err = l.joinAll(); l.Err != nil {
		return
	}
	l.joinNS = l.Clock.Now() - began
	if l.Replay > 0 {
		if l.Err = l.fill(); l.Err != nil {
			return
		}
	}
	now := l.Clock.Now()
	l.Connected.Store(now)
	l.begin(now + startDelay)
	close(l.Ready)
	l.offer()
	l.finish()
	close(l.Over)
	l.drain()
}

// begin sets the due time of the first message.
func (l *loop) begin(start int64) {
	l.Begin(start, l.Duration)
	for i := range l.senderCount {
		if l.period == 0 && l.Replay == 0 {
			l.readySenders = append(l.readySenders, int32(i))
		}
	}
}

// due returns when message k is due.
func (l *loop) due(k int64) int64 { return l.Start.Load() + int64(float64(k)*l.period) }

// offer runs until the window is over or the run is stopped.
func (l *loop) offer() {
	for !l.Stop.Load() && l.Clock.Now() < l.Start.Load() {
		l.runOnce(l.Start.Load())
	}
	l.replay.nextAllowed = l.Replay > 0
	for !l.Stop.Load() && l.Err == nil {
		now := l.Clock.Now()
		l.Open(now)
		if now >= l.Window.To.Load() {
			return
		}
		l.sendNext(now)
		until := l.Until(l.dispatch(now))
		if len(l.readySenders) > 0 || l.replay.nextAllowed {
			until = now
		}
		if until > now+oneloop.Nap { // otherwise there is an iteration soon anyway
			until = min(until, l.nextCheck)
		}
		l.runOnce(until)
	}
	l.stoppedEarly = true
	l.Window.To.Store(min(l.Window.To.Load(), l.Clock.Now()))
}

// finish completes the counts of the window.
func (l *loop) finish() {
	end := l.Window.To.Load()
	l.windowOver = true
	l.Shut(end)
	for l.period > 0 && l.dispatch(end) < end { // every due message is sent
	}
}

// drain waits for outstanding deliveries, unless the run was stopped.
func (l *loop) drain() {
	until := l.Clock.Now() + int64(l.timeout())
	for now := l.Clock.Now(); !l.Stop.Load() && l.Err == nil && l.outstanding > 0 && now < until; now = l.Clock.Now() {
		l.runOnce(min(until, now+oneloop.Nap))
	}
	for i := range l.members[:l.Members] {
		m := &l.members[i]
		if m.state != present || l.Replay > 0 {
			continue
		}
		for s := range m.expected {
			l.missing += int64(l.members[s*l.Rooms+int(m.room)].nextNumber - m.expected[s])
		}
		if own := i / l.Rooms; i < l.senderCount && !m.echoesMessages {
			l.missing -= int64(m.nextNumber - m.expected[own])
		}
	}
	if l.missing > 0 && !l.stoppedEarly {
		l.failures.Add(kindMissing, l.missing, "%d deliveries had not arrived %v after the window", l.missing, l.timeout())
	}
}

// dispatch sends the messages that are due at now or become due meanwhile, at most maxDispatch and
// none after the window. It returns when the next one is due.
func (l *loop) dispatch(now int64) int64 {
	if l.period == 0 {
		return math.MaxInt64
	}
	at, end := l.due(l.nextMessage), l.Window.To.Load()
	for n := 0; at <= now && at < end && n < maxDispatch; at, n = l.due(l.nextMessage), n+1 {
		l.send(int(l.nextMessage%int64(l.senderCount)), at, now)
		l.nextMessage++
		now = max(now, l.Clock.Now())
	}
	return at
}

// runOnce waits for events, at most until the given time, and handles them.
func (l *loop) runOnce(until int64) {
	l.poll.Wait(l.Clock, until, l.after(until), func(i int, events uint32) {
		l.handle(i, events)
		if l.period > 0 && !l.windowOver && l.Start.Load() != 0 {
			if now := l.Clock.Now(); now >= l.due(l.nextMessage) {
				l.dispatch(now)
			}
		}
	})
	if now := l.Clock.Now(); now >= l.nextCheck {
		l.checkTimeouts(now)
	}
}

// after returns when the alarm will probably be needed after the given time; 0 if unknown.
func (l *loop) after(until int64) int64 {
	if l.period == 0 || l.Start.Load() == 0 || until != l.due(l.nextMessage) {
		return 0
	}
	return l.due(l.nextMessage + 1)
}

// checkTimeouts finds deliveries that took too long.
func (l *loop) checkTimeouts(now int64) {
	l.nextCheck = now + oneloop.Nap
	if l.Start.Load() == 0 || l.windowOver {
		return
	}
	timeout := int64(l.timeout())
	if l.Replay > 0 {
		if l.replay.startedAt > 0 && now-l.replay.startedAt > timeout {
			l.Err = fmt.Errorf(load.ServerFailed+"a replay took longer than %v: %d of %d messages arrived", l.timeout(), l.replay.received, l.Replay)
		}
		return
	}
	for i := range l.senderCount {
		m := &l.members[i]
		if l.period == 0 && m.outstanding > 0 && now-m.sentAt > timeout {
			l.failures.Add(kindTimeout, 1, "%s: message %d was not delivered to %d members within %v", m.nick, m.nextNumber-1, m.outstanding, l.timeout())
			m.outstanding = 0
			l.readySenders = append(l.readySenders, int32(i))
		}
	}
}

// sendNext sends the next message of senders whose last message has been delivered, and starts the
// next replay.
func (l *loop) sendNext(now int64) {
	if l.replay.nextAllowed {
		l.nextReplay()
	}
	n := len(l.readySenders)
	for _, i := range l.readySenders[:n] {
		if m := &l.members[i]; m.state == present && m.outstanding == 0 {
			l.send(int(i), now, now)
			now = l.Clock.Now()
		}
	}
	l.readySenders = l.readySenders[:copy(l.readySenders, l.readySenders[n:])]
}

// cancelled returns the error of a run that was stopped before it started.
func (l *loop) cancelled() error {
	if l.Stop.Load() {
		return context.Canceled
	}
	return nil
}
