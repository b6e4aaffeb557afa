package chat

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

const (
	nap         = int64(50e6)  // ns; the longest sleep, and the longest time between two looks round
	startDelay  = int64(100e6) // ns; from the last member's joining, which the others are told of, to the first message
	maxDispatch = 256          // messages that may be sent before deliveries are looked at again
)

// shared is what the loop and its controller both see. Everything but the atomics is set before they start.
type shared struct {
	Config
	clock  raw.Clock
	addr   string // of the server, an IP address and a port
	window *tally.Window

	stop      atomic.Bool  // controller -> loop: end soon
	start     atomic.Int64 // loop -> controller, before ready: ns; when the first message is due
	connected atomic.Int64 // loop -> controller, before ready: ns; when everybody had joined
	delivered atomic.Int64 // loop -> anybody: deliveries
	worst     atomic.Int64 // loop -> anybody: ns; the greatest lateness since somebody set it to 0
	alive     atomic.Int64 // loop -> anybody: members in their rooms

	steered           bool
	ready, over, done chan struct{} // closed by the loop: the first message is due soon; the window is over; everything is. The first two not when it fails
}

// room is where some of the members meet.
type room struct {
	name   string
	before []byte // what stands before a text that is told to it
	here   int32  // members that are in it
}

// loop joins, sends and reads, from one locked thread. Nothing in it allocates for a delivery while all goes well.
type loop struct {
	*shared
	texts
	epoll   int
	alarm   *raw.Alarm
	server  unix.Sockaddr
	family  int
	members []member // who talk and listen; then who idle; then a place for the one who reads a replay
	rooms   []room
	talkers int // the first so many members
	events  [256]unix.EpollEvent
	buffer  []byte
	again   []int32 // senders whose last message is delivered, in the closed loop
	replay  replay

	period float64 // ns between messages; 0 in the closed loop
	turn   int64   // number of the next message that becomes due
	owed   int64   // deliveries to come
	look   int64   // ns; when to look round next
	joined int     // connections that are where they should be
	counts
	err error // why there was no load at all, or why it ended
}

func newLoop(s *shared) (*loop, error) {
	server, family, err := sockaddr(s.addr)
	if err != nil {
		return nil, err
	}
	alarm, err := raw.NewAlarm()
	if err != nil {
		return nil, err
	}
	epoll, err := newEpoll(alarm)
	if err != nil {
		alarm.Close()
		return nil, err
	}
	l := &loop{shared: s, texts: newTexts(makeMark(rand.Uint64()), s.Size), epoll: epoll, alarm: alarm, server: server, family: family,
		talkers: s.senders(), buffer: make([]byte, 256<<10), counts: newCounts()}
	if s.Rate > 0 {
		l.period = 1e9 / s.Rate
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

// newEpoll waits for the alarm's timers, under the numbers -1 and -2.
func newEpoll(alarm *raw.Alarm) (int, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	for i, fd := range alarm.Timers {
		if err == nil {
			err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(-1 - i)})
		}
	}
	if err != nil {
		return 0, fmt.Errorf("load: can't make an epoll descriptor: %w", err)
	}
	return epoll, nil
}

// close is called when run has ended.
func (l *loop) close() {
	for i := range l.members {
		if fd := l.members[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
	unix.Close(l.epoll) //nolint:errcheck // nothing is lost
	l.alarm.Close()
}

// run joins, offers the load until the window is over, and waits for the last deliveries.
func (l *loop) run() {
	defer close(l.done)
	runtime.LockOSThread()
	began := l.clock.Now()
	if l.err = l.joinAll(); l.err != nil {
		return
	}
	l.joinNS = l.clock.Now() - began
	if l.Replay > 0 {
		if l.err = l.fill(); l.err != nil {
			return
		}
	}
	now := l.clock.Now()
	l.connected.Store(now)
	l.begin(now + startDelay)
	close(l.ready)
	l.offer()
	l.finish()
	close(l.over)
	l.drain()
}

// begin fixes when the first message is due.
func (l *loop) begin(start int64) {
	l.start.Store(start)
	if !l.steered {
		l.window.To.Store(start + int64(l.Duration))
		l.window.From.Store(start)
	}
	for i := range l.talkers {
		if l.period == 0 && l.Replay == 0 {
			l.again = append(l.again, int32(i))
		}
	}
}

// due is when message k is due.
func (l *loop) due(k int64) int64 { return l.start.Load() + int64(float64(k)*l.period) }

// offer runs until the window is over or something ends it before.
func (l *loop) offer() {
	for !l.stop.Load() && l.clock.Now() < l.start.Load() {
		l.turnOnce(l.start.Load())
	}
	l.replay.next = l.Replay > 0
	for !l.stop.Load() && l.err == nil {
		now := l.clock.Now()
		if l.from == 0 && now >= l.window.From.Load() {
			l.from, l.cpuFrom, l.queueFrom = l.window.From.Load(), raw.ProcessCPU(), raw.RunQueueWait()
		}
		if now >= l.window.To.Load() {
			return
		}
		l.proceedAll(now)
		until := min(l.dispatch(now), l.window.To.Load())
		if l.from == 0 {
			until = min(until, l.window.From.Load())
		}
		if len(l.again) > 0 || l.replay.next {
			until = now
		}
		if until > now+nap { // otherwise there is a turn soon in any case
			until = min(until, l.look)
		}
		l.turnOnce(until)
	}
	l.cut = true
	l.window.To.Store(min(l.window.To.Load(), l.clock.Now()))
}

// finish closes the books of the window.
func (l *loop) finish() {
	end := l.window.To.Load()
	l.ended = true
	if l.from != 0 {
		l.to, l.cpuTo, l.queueTo = max(end, l.from), raw.ProcessCPU(), raw.RunQueueWait()
	}
	for l.period > 0 && l.dispatch(end) < end { // nothing that was due is left out
	}
}

// drain waits for what is still to come, unless the run was ended from outside.
func (l *loop) drain() {
	until := l.clock.Now() + int64(l.timeout())
	for now := l.clock.Now(); !l.stop.Load() && l.err == nil && l.owed > 0 && now < until; now = l.clock.Now() {
		l.turnOnce(min(until, now+nap))
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

// dispatch sends the messages that are due at now or become due meanwhile, but not many at once and none of after the window.
// It says when the next one is.
func (l *loop) dispatch(now int64) int64 {
	if l.period == 0 {
		return math.MaxInt64
	}
	at, end := l.due(l.turn), l.window.To.Load()
	for n := 0; at <= now && at < end && n < maxDispatch; at, n = l.due(l.turn), n+1 {
		l.say(int(l.turn%int64(l.talkers)), at, now)
		l.turn++
		now = max(now, l.clock.Now())
	}
	return at
}

// turnOnce waits until something happens, at the longest until the given time, and deals with it.
func (l *loop) turnOnce(until int64) {
	for _, ev := range l.events[:l.wait(until)] {
		if ev.Fd < 0 {
			l.alarm.Rang(int(-1 - ev.Fd))
			continue
		}
		l.handle(int(ev.Fd), ev.Events)
		if l.period > 0 && !l.ended && l.start.Load() != 0 {
			if now := l.clock.Now(); now >= l.due(l.turn) {
				l.dispatch(now)
			}
		}
	}
	if now := l.clock.Now(); now >= l.look {
		l.lookRound(now)
	}
}

// wait returns how many events came before the given time. It waits raw: see raw.PausePoint. The alarm is armed for
// the next message's time only once, however many deliveries come before.
func (l *loop) wait(until int64) int {
	timeout := 0
	if l.clock.Now() < until {
		timeout = -1
		then := int64(0)
		if l.period > 0 && l.start.Load() != 0 && until == l.due(l.turn) {
			then = l.due(l.turn + 1)
		}
		l.alarm.Arm(until, then)
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)),
		uintptr(timeout), 0, 0)
	raw.PausePoint()
	if errno != 0 {
		return 0
	}
	return int(n)
}

// lookRound finds what took too long.
func (l *loop) lookRound(now int64) {
	l.look = now + nap
	if l.start.Load() == 0 || l.ended {
		return
	}
	timeout := int64(l.timeout())
	if l.Replay > 0 {
		if l.replay.since > 0 && now-l.replay.since > timeout {
			l.err = fmt.Errorf("load: a replay took longer than %v: %d of %d messages came", l.timeout(), l.replay.got, l.Replay)
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
			now = l.clock.Now()
		}
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
}

// cancelled is the error of a run that is told to stop before it began.
func (l *loop) cancelled() error {
	if l.stop.Load() {
		return context.Canceled
	}
	return nil
}
