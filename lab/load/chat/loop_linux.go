package chat

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"weir/lab/load"
	"weir/lab/load/internal/oneloop"
)

const (
	// ns; from the last member's joining, which the others are told of, to the first message
	startDelay  = int64(100e6)
	maxDispatch = 256 // messages that may be sent before deliveries are looked at again
)

// room is where some of the members meet.
type room struct {
	name   string
	before []byte // what stands before a text that is told to it
	here   int32  // members that are in it
}

// loop joins, sends and reads, from one locked thread. Nothing in it allocates for a delivery while
// all goes well.
type loop struct {
	Config
	*oneloop.State
	texts
	poll   *oneloop.Poll
	server oneloop.Server
	addr   string // of the server, an IP address and a port
	// who talk and listen; then who idle; then a place for the one who reads a replay
	members []member
	rooms   []room
	talkers int // the first so many members
	buffer  []byte
	again   []int32 // senders whose last message is delivered, in the closed loop
	replay  replay

	period float64 // ns between messages; 0 in the closed loop
	turn   int64   // number of the next message that becomes due
	owed   int64   // deliveries to come
	look   int64   // ns; when to look round next
	joined int     // connections that are where they should be
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
		talkers: c.senders(), buffer: make([]byte, 256<<10), counts: newCounts()}
	if c.Rate > 0 {
		l.period = 1e9 / c.Rate
	}
	l.populate()
	return l, nil
}

// populate makes rooms and members.
func (l *loop) populate() {
	l.rooms = make([]room, l.Rooms)
	for r := range l.rooms {
		l.rooms[r].name = "#" + l.prefix() + string(appendLetters(nil, uint32(l.mark>>24)))[4:] + strconv.Itoa(r)
		l.rooms[r].before = []byte(" PRIVMSG " + l.rooms[r].name + " :")
	}
	l.members = make([]member, l.Members+l.Idle+1)
	for i := range l.members {
		m := &l.members[i]
		m.fd, m.nick = -1, l.prefix()+strconv.Itoa(i)
		if i >= l.Members {
			continue
		}
		m.room = int32(i % l.Rooms)
		m.expected = make([]uint32, (l.talkers-int(m.room)+l.Rooms-1)/l.Rooms)
		if i < l.talkers {
			m.compose(&l.texts, uint32(i), &l.rooms[m.room])
		}
	}
}

// close is called when run has ended.
func (l *loop) close() {
	for i := range l.members {
		if fd := l.members[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
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

// begin fixes when the first message is due.
func (l *loop) begin(start int64) {
	l.Begin(start, l.Duration)
	for i := range l.talkers {
		if l.period == 0 && l.Replay == 0 {
			l.again = append(l.again, int32(i))
		}
	}
}

// due is when message k is due.
func (l *loop) due(k int64) int64 { return l.Start.Load() + int64(float64(k)*l.period) }

// offer runs until the window is over or something ends it before.
func (l *loop) offer() {
	for !l.Stop.Load() && l.Clock.Now() < l.Start.Load() {
		l.turnOnce(l.Start.Load())
	}
	l.replay.next = l.Replay > 0
	for !l.Stop.Load() && l.Err == nil {
		now := l.Clock.Now()
		l.Open(now)
		if now >= l.Window.To.Load() {
			return
		}
		l.proceedAll(now)
		until := l.Until(l.dispatch(now))
		if len(l.again) > 0 || l.replay.next {
			until = now
		}
		if until > now+oneloop.Nap { // otherwise there is a turn soon in any case
			until = min(until, l.look)
		}
		l.turnOnce(until)
	}
	l.cut = true
	l.Window.To.Store(min(l.Window.To.Load(), l.Clock.Now()))
}

// finish closes the books of the window.
func (l *loop) finish() {
	end := l.Window.To.Load()
	l.ended = true
	l.Shut(end)
	for l.period > 0 && l.dispatch(end) < end { // nothing that was due is left out
	}
}

// drain waits for what is still to come, unless the run was ended from outside.
func (l *loop) drain() {
	until := l.Clock.Now() + int64(l.timeout())
	for now := l.Clock.Now(); !l.Stop.Load() && l.Err == nil && l.owed > 0 && now < until; now = l.Clock.Now() {
		l.turnOnce(min(until, now+oneloop.Nap))
	}
	for i := range l.members[:l.Members] {
		m := &l.members[i]
		if m.state != present || l.Replay > 0 {
			continue
		}
		for s := range m.expected {
			l.missing += int64(l.members[s*l.Rooms+int(m.room)].sent - m.expected[s])
		}
		if own := i / l.Rooms; i < l.talkers && !m.echo {
			l.missing -= int64(m.sent - m.expected[own])
		}
	}
	if l.missing > 0 && !l.cut {
		l.fails.Add(kindMissing, l.missing, "%d deliveries had not come %v after the window", l.missing, l.timeout())
	}
}

// dispatch sends the messages that are due at now or become due meanwhile, but not many at once and
// none of after the window. It says when the next one is.
func (l *loop) dispatch(now int64) int64 {
	if l.period == 0 {
		return math.MaxInt64
	}
	at, end := l.due(l.turn), l.Window.To.Load()
	for n := 0; at <= now && at < end && n < maxDispatch; at, n = l.due(l.turn), n+1 {
		l.say(int(l.turn%int64(l.talkers)), at, now)
		l.turn++
		now = max(now, l.Clock.Now())
	}
	return at
}

// turnOnce waits until something happens, at the longest until the given time, and deals with it.
func (l *loop) turnOnce(until int64) {
	l.poll.Wait(l.Clock, until, l.after(until), func(i int, events uint32) {
		l.handle(i, events)
		if l.period > 0 && !l.ended && l.Start.Load() != 0 {
			if now := l.Clock.Now(); now >= l.due(l.turn) {
				l.dispatch(now)
			}
		}
	})
	if now := l.Clock.Now(); now >= l.look {
		l.lookRound(now)
	}
}

// after is when the alarm is likely to be needed after the given time, 0 if there is no saying.
func (l *loop) after(until int64) int64 {
	if l.period == 0 || l.Start.Load() == 0 || until != l.due(l.turn) {
		return 0
	}
	return l.due(l.turn + 1)
}

// lookRound finds what took too long.
func (l *loop) lookRound(now int64) {
	l.look = now + oneloop.Nap
	if l.Start.Load() == 0 || l.ended {
		return
	}
	timeout := int64(l.timeout())
	if l.Replay > 0 {
		if l.replay.since > 0 && now-l.replay.since > timeout {
			l.Err = fmt.Errorf(load.ServerFailed+"a replay took longer than %v: %d of %d messages came", l.timeout(), l.replay.got, l.Replay)
		}
		return
	}
	for i := range l.talkers {
		m := &l.members[i]
		if l.period == 0 && m.left > 0 && now-m.sentAt > timeout {
			l.fails.Add(kindTimeout, 1, "%s: message %d was not delivered to %d members within %v", m.nick, m.sent-1, m.left, l.timeout())
			m.left = 0
			l.again = append(l.again, int32(i))
		}
	}
}

// proceedAll lets senders go on whose last message is delivered, and the next newcomer come.
func (l *loop) proceedAll(now int64) {
	if l.replay.next {
		l.nextReplay()
	}
	n := len(l.again)
	for _, i := range l.again[:n] {
		if m := &l.members[i]; m.state == present && m.left == 0 {
			l.say(int(i), now, now)
			now = l.Clock.Now()
		}
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
}

// cancelled is the error of a run that is told to stop before it began.
func (l *loop) cancelled() error {
	if l.Stop.Load() {
		return context.Canceled
	}
	return nil
}
