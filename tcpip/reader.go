package tcpip

import (
	"runtime"
	"sync/atomic"
	"time"

	"weir/serve"
	"weir/tcpip/icmp"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

// reader is the goroutine that reads one receive queue of a link. It passes frames to their
// connections one batch at a time (network.go). When a batch is finished, the connections that it
// touched answer: one acknowledgment covers all segments of the batch. The reader also owns
// connections and runs their timers before it sleeps. While it waits for frames, the goroutine that
// writes them may take its place (direct.go).
type reader struct {
	s      *Stack
	iface  *iface
	queue  link.Queue
	timers timerHeap
	counts readerCounts

	// the reader must check neighbours and fragments at its next runTimers
	checkRequested atomic.Bool
	// the link has closed while the stack runs: nothing reads the queue any more
	linkGone atomic.Bool

	wakeQueue wakeQueue
	pushBack  pushBack
	asleep    atomic.Bool // the reader sleeps, or is about to and has not computed its timeout yet

	feeder *batchFeeder
	// called after each Read, by the reader's goroutine: see Stack.WatchDescriptor; nil: none
	watching atomic.Pointer[func()]

	// Used by the reader only; with RunNetwork, by the layer goroutine that has the batch. While
	// the reader is in Read, by the writer's goroutine (processDirect).
	frames        [batchSize]link.Frame
	toAnswer      []*Conn              // connections that must answer when the batch is finished
	answeredCount int                  // how many of toAnswer have answered
	dequeued      []*Conn              // connections taken from wakeQueue that have not run yet
	sessionWriter serve.Writer         // the output of the session that is being called
	pieces        [maxTaken + 2][]byte // input of the Taker that is being called
	wokeApp       bool                 // an application goroutine was woken since the last yield
	yieldedAt     tcp.Time             // when the reader yielded last
	linkEnded     bool                 // the link has closed and its connections have been reset
	checkedAt     tcp.Time             // when neighbours and fragments were last checked
	nextCheckAt   tcp.Time             // when to check them again; 0: not before the next frame
}

const (
	batchSize = 32 // frames of one read
	// interval between checks of neighbours and fragments while there are any
	checkInterval = 100 * time.Millisecond
	// longest interval between yields of a reader that has frames
	yieldInterval = 8 * time.Millisecond
)

// run reads until the link is closed.
func (l *reader) run() {
	defer l.restart()
	// finish the batch of a reader that a session ended by runtime.Goexit
	l.finishBatch(l.s.now())
	for {
		// set before readTimeout: a goroutine that schedules something earlier after it calls Wake
		l.asleep.Store(true)
		n, err := l.queue.Read(l.frames[:], l.readTimeout())
		l.asleep.Store(false)
		if err != nil {
			l.shutDown()
			l.linkEnded = true
			return
		}
		now := l.s.now()
		l.feeder.processBatch(l.frames[:n], now)
		if ready := l.watching.Load(); ready != nil {
			(*ready)()
		}
		// the batch may have had a frame of a new neighbour, or a fragment
		if n > 0 && l.nextCheckAt == 0 {
			l.nextCheckAt = now.Add(checkInterval)
		}
		l.finishBatch(now)
	}
}

// finishBatch does what is due after a batch. The queue may reuse the batch's frames then.
func (l *reader) finishBatch(now tcp.Time) {
	l.wokeApp = l.answerBatch(now, true) || l.wokeApp
	l.runTimers(now)
	l.runQueued(now)
	l.yield(now)
}

// restart starts another reader after a session has ended this goroutine by runtime.Goexit. The
// reader's other connections go on.
func (l *reader) restart() {
	if !l.linkEnded {
		l.s.readersDone.Go(l.run) // until Close closes its link
	}
}

// shutDown resets the reader's connections after its link has closed, because their timers no
// longer run, and calls their sessions for the last time.
func (l *reader) shutDown() {
	l.linkGone.Store(true)
	if !l.s.closed.Load() { // if the stack is closing, Close resets them
		for _, c := range l.s.conns.all() {
			if c.reader == l {
				c.abortLost(l.s.now())
			}
		}
	}
	for !l.wakeQueue.isEmpty() {
		l.runQueued(l.s.now())
	}
}

// yield runs an application goroutine that was woken, on this thread and at once. Otherwise the
// reader would block in a system call, and the runtime would wake another thread for the
// application. That takes several times as long as the whole stack.
//
// It also yields before a time slice of the runtime (10 ms) ends. From then on the runtime's
// monitor would take the processor of the reader away in each system call, and look for that every
// 20 us.
func (l *reader) yield(now tcp.Time) {
	if l.wokeApp || now.Sub(l.yieldedAt) > yieldInterval {
		l.wokeApp, l.yieldedAt = false, now
		runtime.Gosched()
	}
}

// readTimeout returns how long the reader may sleep; negative: without limit.
func (l *reader) readTimeout() time.Duration {
	if !l.wakeQueue.isEmpty() {
		return 0
	}
	now := l.s.now()
	wait := l.timers.sleepTime(now)
	if l.nextCheckAt != 0 {
		if left := max(0, l.nextCheckAt.Sub(now)); wait < 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// answerBatch has the connections that the batch touched answer, and reports whether an application
// was notified. If a session ends the goroutine, the next reader goes on with the rest.
func (l *reader) answerBatch(now tcp.Time, inReader bool) (woke bool) {
	for l.answeredCount < len(l.toAnswer) {
		c := l.toAnswer[l.answeredCount]
		l.toAnswer[l.answeredCount] = nil
		l.answeredCount++
		c.answerPending = false
		woke = c.answer(now, inReader) || woke
	}
	l.toAnswer, l.answeredCount = l.toAnswer[:0], 0
	return woke
}

// markToAnswer has c answer when the batch is finished.
func (l *reader) markToAnswer(c *Conn) {
	if !c.answerPending {
		c.answerPending = true
		l.toAnswer = append(l.toAnswer, c)
	}
}

// runTimers runs expired timers, and checks neighbours and fragments if it is time.
func (l *reader) runTimers(now tcp.Time) {
	for c := l.timers.popDue(now); c != nil; c = l.timers.popDue(now) {
		l.wokeApp = c.runTimers(now) || l.wokeApp
	}
	if !l.checkRequested.Swap(false) && l.nextCheckAt != 0 && now < l.nextCheckAt && now.Sub(l.checkedAt) < checkInterval {
		return
	}
	l.checkedAt = now
	l.nextCheckAt = l.tickNeighbours(now)
	l.reportConflicts(now)
	l.applyAutoconf(now)
	l.reportUnreachable(now) // now packets for a router that has failed go to another one
	if at := l.expireFragments(now); at != 0 && (l.nextCheckAt == 0 || at < l.nextCheckAt) {
		l.nextCheckAt = at
	}
}

// tickNeighbours sends ARP requests again, fails neighbours that do not answer, continues the
// claims of the stack's own addresses, and reports groups. It returns when it must run again; 0: no
// timer.
func (l *reader) tickNeighbours(now tcp.Time) tcp.Time {
	l.iface.mu.Lock()
	defer l.iface.mu.Unlock()
	next := l.iface.neigh.Tick(neigh.Time(now), neighActions{l})
	if at := l.iface.claims.Tick(neigh.Time(now), claimActions{l}); at != 0 && (next == 0 || at < next) {
		next = at
	}
	if at := neigh.Time(l.tickAutoconfLocked(now)); at != 0 && (next == 0 || at < next) {
		next = at
	}
	if at := neigh.Time(l.iface.tickRedirectsLocked(now)); at != 0 && (next == 0 || at < next) {
		next = at
	}
	if at := neigh.Time(l.tickGroupsLocked(now)); at != 0 && (next == 0 || at < next) {
		next = at
	}
	l.iface.neighChanges.Store(l.iface.neigh.Changes)
	return tcp.Time(next)
}

// expireFragments drops packets whose reassembly has timed out. It returns when it must run again;
// 0: no timer.
func (l *reader) expireFragments(now tcp.Time) tcp.Time {
	s := l.s
	s.fragsMu.Lock()
	defer s.fragsMu.Unlock()
	return tcp.Time(s.fragments.Tick(ip.Time(now), func(first []byte) {
		s.drops.add(DropFragment)
		l.iface.sendICMPError(first, false, icmp.ReassemblyExceeded, 0)
	}))
}
