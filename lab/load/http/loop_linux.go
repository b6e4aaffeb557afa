package http

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

const (
	nap        = int64(50e6) // ns; the longest sleep, and the longest time between two looks round
	startDelay = int64(20e6) // ns; from the last connection to the first request
	atOnce     = 64          // connections being made at once before the first request
)

// shared is what the loop and its controller both see. Everything but the atomics is set before they start.
type shared struct {
	Config
	clock   raw.Clock
	addr    string // of the server, an IP address and a port
	request []byte
	bodies  *bodies
	window  *tally.Window

	stop      atomic.Bool  // controller -> loop: end soon
	start     atomic.Int64 // loop -> controller, before ready: ns; when the first request is due
	connected atomic.Int64 // loop -> controller, before ready: ns; when every connection was there
	answered  atomic.Int64 // loop -> anybody: answers that were whole and right
	failed    atomic.Int64 // loop -> anybody: requests that failed
	worst     atomic.Int64 // loop -> anybody: ns; the greatest lateness since somebody set it to 0
	alive     atomic.Int64 // loop -> anybody: open connections

	steered           bool
	ready, over, done chan struct{} // closed by the loop: the first request is due soon; the window is over; everything is. The first two not when it fails
}

// loop sends requests and takes answers, from one locked thread. Nothing in it allocates while all goes well.
type loop struct {
	*shared
	epoll  int
	alarm  *raw.Alarm
	server unix.Sockaddr
	family int
	conns  []conn
	events [256]unix.EpollEvent
	buffer []byte
	again  []int32 // connections that are free and were not asked yet whether they have something to do
	free   []int32 // connections that may carry the next request, in the open loop without keep-alive
	busy   int     // connections with a request under way

	period float64 // ns between requests; 0 in the closed loop
	turn   int64   // number of the next request that becomes due
	begun  int64   // requests, in the closed loop
	look   int64   // ns; when to look round next
	counts
	dialing error // why a connection before the first request was not made
	err     error // why there was no load at all
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
	l := &loop{shared: s, epoll: epoll, alarm: alarm, server: server, family: family, conns: make([]conn, s.Connections), buffer: make([]byte, 256<<10),
		counts: newCounts()}
	if s.Rate > 0 {
		l.period = 1e9 / s.Rate
	}
	for i := range l.conns {
		l.conns[i].fd, l.conns[i].next = -1, int64(i)
	}
	return l, nil
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
	for i := range l.conns {
		if fd := l.conns[i].fd; fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
	unix.Close(l.epoll) //nolint:errcheck // nothing is lost
	l.alarm.Close()
}

// run connects, offers requests until the window is over, and waits for the last answers.
func (l *loop) run() {
	defer close(l.done)
	runtime.LockOSThread()
	if l.err = l.connectAll(); l.err != nil {
		return
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

// begin fixes when the first request is due, and every connection's place.
func (l *loop) begin(start int64) {
	l.start.Store(start)
	if l.Duration > 0 && !l.steered {
		l.window.To.Store(start + int64(l.Duration))
	}
	if !l.steered {
		l.window.From.Store(start)
	}
	for i := range l.conns {
		switch {
		case l.period == 0:
			l.again = append(l.again, int32(i))
		case l.Close:
			l.free = append(l.free, int32(i))
		}
	}
}

// due is when request k is due.
func (l *loop) due(k int64) int64 { return l.start.Load() + int64(float64(k)*l.period) }

// offer runs until the window is over or something ends it before.
func (l *loop) offer() {
	l.sleepUntil(l.start.Load())
	for !l.stop.Load() && !l.spent() && !l.tooMany() {
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
		if until > now+nap { // otherwise there is a turn soon in any case
			until = min(until, l.look)
		}
		l.turnOnce(until)
	}
	l.cut = !l.spent()
	l.window.To.Store(min(l.window.To.Load(), max(l.last, l.clock.Now())))
}

// spent says that a closed loop has had all its requests decided.
func (l *loop) spent() bool { return l.Requests > 0 && l.begun == l.Requests && l.busy == 0 }

// tooMany says that there were as many errors as may be.
func (l *loop) tooMany() bool { return l.MaxErrors > 0 && l.failed.Load() >= l.MaxErrors }

// finish closes the books of the window.
func (l *loop) finish() {
	end := l.window.To.Load()
	if l.Requests > 0 && l.spent() {
		end = l.last
	}
	l.ended = true
	if l.from != 0 {
		l.to, l.cpuTo, l.queueTo = max(end, l.from), raw.ProcessCPU(), raw.RunQueueWait()
	}
	for l.dispatch(end) < end && l.period > 0 { // nothing that was due is left out
	}
}

// drain waits for what is still to be decided, unless the run was ended from outside.
func (l *loop) drain() {
	for !l.stop.Load() && !l.tooMany() && (l.busy > 0 || l.waiting() > 0) {
		l.proceedAll(l.clock.Now())
		l.turnOnce(l.look)
	}
	l.unfinished = int64(l.busy) + l.waiting()
}

// waiting is how many requests were due and not begun, because their connections were busy.
func (l *loop) waiting() (n int64) {
	if l.period == 0 || l.Close {
		return 0
	}
	for i := range l.conns {
		if left := l.turn - l.conns[i].next; left > 0 {
			n += (left + int64(len(l.conns)) - 1) / int64(len(l.conns))
		}
	}
	return n
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
// the next request's time only once, however many answers come before.
func (l *loop) wait(until int64) int {
	timeout := 0
	if l.clock.Now() < until {
		timeout = -1
		l.alarm.Arm(until, l.after(until))
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)),
		uintptr(timeout), 0, 0)
	raw.PausePoint()
	if errno != 0 {
		return 0
	}
	return int(n)
}

// after is when the alarm is likely to be needed after the given time, 0 if there is no saying.
func (l *loop) after(until int64) int64 {
	if l.period == 0 || l.start.Load() == 0 || until != l.due(l.turn) {
		return 0
	}
	return l.due(l.turn + 1)
}

func (l *loop) sleepUntil(at int64) {
	for !l.stop.Load() && l.clock.Now() < at {
		l.turnOnce(min(at, l.clock.Now()+nap))
	}
}

// lookRound finds what took too long and what may be tried again.
func (l *loop) lookRound(now int64) {
	timeout := int64(l.timeout())
	l.look = now + min(nap, max(timeout/20, 1e6))
	for i := range l.conns {
		c := &l.conns[i]
		switch {
		case c.wants && now-c.at > timeout:
			l.fail(i, now, kindTimeout, "no whole answer within %v", l.timeout())
		case c.state == ending && now-c.since > nap:
			l.shut(i) // the server was to close it
			l.again = append(l.again, int32(i))
		case c.state == refused && now-c.since > retryAfter:
			c.state = closed
			l.again = append(l.again, int32(i))
		}
		for l.period > 0 && !l.Close && c.next < l.turn && now-l.due(c.next) > timeout {
			l.abandon(i, now)
		}
	}
}

// proceedAll gives connections that became free what they have to do. Those that fail at once come next time.
func (l *loop) proceedAll(now int64) {
	n := len(l.again)
	for _, i := range l.again[:n] {
		l.proceed(int(i), now)
	}
	l.again = l.again[:copy(l.again, l.again[n:])]
}
