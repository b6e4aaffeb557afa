package chatload

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
	"weir/lab/load"
)

const (
	// ns; from the last member's JOIN, which is sent to the others, to the first message
	startDelay = int64(100e6)
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
	// the members; then the idle connections; then one place for the member that reads a replay
	members      []member
	rooms        []room
	senderCount  int // number of sending members, the first ones
	buffer       []byte
	readySenders []int32 // closed loop: senders whose last message has been delivered
	replay       replay
	began        int64 // ns; when joining started

	open        bool              // the loop is open, not closed
	schedule    schedule.Schedule // of the open loop: a sender's messages have its number
	outstanding int64             // outstanding deliveries
	waitUntil   int64             // ns; limit on waiting for deliveries after the window
	counts
}

func newLoop(c Config, s *oneloop.State) *loop {
	l := &loop{Config: c, State: s, texts: newTexts(makeMark(rand.Uint64()), c.Size), senderCount: c.senders(), buffer: make([]byte, 256<<10),
		began: s.Clock.Now(), counts: counts{replays: tally.NewDistribution()}}
	s.Delay, s.ConnectLimit = startDelay, max(raw.DialTimeout, c.timeout())
	l.open = c.Rate > 0
	l.populate()
	return l
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

// close must be called after the run.
func (l *loop) close() {
	for i := range l.members {
		if fd := l.members[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // no data to lose
		}
	}
}

// Begun implements oneloop.Loop.
func (l *loop) Begun() {
	l.replay.nextAllowed = l.Replay > 0
	if l.open {
		l.schedule = schedule.Schedule{Start: l.Start.Load(), Pattern: load.Staggered, N: l.senderCount, Period: float64(l.senderCount) * 1e9 / l.Rate}
		l.Order = l.schedule.Order()
	}
	for i := range l.senderCount {
		if !l.open && l.Replay == 0 {
			l.readySenders = append(l.readySenders, int32(i))
		}
	}
}

// Finish implements oneloop.Loop.
func (l *loop) Finish(int64) { l.waitUntil = l.Clock.Now() + int64(l.timeout()) }

// Waiting reports whether deliveries are outstanding.
func (l *loop) Waiting(now int64) bool {
	return l.Err == nil && l.outstanding > 0 && now < l.waitUntil
}

// Leave counts the deliveries that have not arrived.
func (l *loop) Leave() {
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
	if l.missing > 0 && !l.EndedEarly {
		l.Failures.Add(kindMissing, l.missing, "%d deliveries had not arrived %v after the window", l.missing, l.timeout())
	}
}

// Check finds deliveries that took too long.
func (l *loop) Check(now int64) (next int64) {
	next = now + oneloop.Nap
	if l.Start.Load() == 0 || l.IsOver {
		return next
	}
	timeout := int64(l.timeout())
	if l.Replay > 0 {
		if l.replay.startedAt > 0 && now-l.replay.startedAt > timeout {
			l.Err = fmt.Errorf(load.ServerFailed+"a replay took longer than %v: %d of %d messages arrived", l.timeout(), l.replay.received, l.Replay)
		}
		return next
	}
	for i := range l.senderCount {
		m := &l.members[i]
		if !l.open && m.outstanding > 0 && now-m.sentAt > timeout {
			l.Failures.Add(oneloop.KindTimeout, 1, "%s: message %d was not delivered to %d members within %v", m.nick, m.nextNumber-1, m.outstanding, l.timeout())
			m.outstanding = 0
			l.readySenders = append(l.readySenders, int32(i))
		}
	}
	return next
}

// Work sends the next message of senders whose last message has been delivered, and starts the next
// replay. It reports whether more can be sent.
func (l *loop) Work(now int64) bool {
	if l.IsOver {
		return false
	}
	if l.replay.nextAllowed {
		l.nextReplay()
	}
	n := len(l.readySenders)
	for _, i := range l.readySenders[:n] {
		if m := &l.members[i]; m.state == present && m.outstanding == 0 {
			l.Send(int(i), now, now)
			now = l.Clock.Now()
		}
	}
	l.readySenders = l.readySenders[:copy(l.readySenders, l.readySenders[n:])]
	return len(l.readySenders) > 0 || l.replay.nextAllowed
}
