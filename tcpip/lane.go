package tcpip

import (
	"runtime"
	"sync/atomic"
	"time"

	"weir/serve"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// lane is a queue of a link with the goroutine that reads it. Frames are carried to their
// connections a batch at a time (network.go), and when a batch is through, the connections that it
// touched answer: one acknowledgment stands for all that came. The same goroutine runs the timers
// of the connections that the lane owns, when it would otherwise sleep.
type lane struct {
	s      *Stack
	iface  *iface
	q      link.Queue
	timers timers
	counts laneCounts

	looking atomic.Bool // the reader is to look at the neighbours now
	gone    atomic.Bool // the link is, though the stack runs: there is no reader

	posts  posts
	asleep atomic.Bool // the reader waits, or is about to and has not yet looked what for

	intake *intake

	// The reader's; of a network, while a batch is under way, the dealers'.
	frames   [batch]link.Frame
	touched  []*Conn      // that have to answer when the batch is through
	answered int          // how many of touched have
	posted   []*Conn      // that were posted, and are still to be seen to
	writer   serve.Writer // of the session that is called
	woke     bool         // somebody was, since it last let others run
	ended    bool         // the link is gone, and all that ran over it was told
	checked  tcp.Time     // when neighbours and fragments were last looked at
	next     tcp.Time     // when they are to be again; 0: not before something comes
}

const (
	batch = 32 // frames that are read at once
	// at most between two looks at neighbours and fragments while there are any
	lookEach = 100 * time.Millisecond
)

// run reads until the link is closed.
func (l *lane) run() {
	defer l.revive()
	l.settle(l.s.now()) // what a reader before has left
	for {
		l.asleep.Store(true) // before it looks how long it may wait: who changes that wakes it
		n, err := l.q.Read(l.frames[:], l.patience())
		l.asleep.Store(false)
		if err != nil {
			l.end()
			l.ended = true
			return
		}
		now := l.s.now()
		l.intake.take(l.frames[:n], now)
		if n > 0 && l.next == 0 { // of a neighbour, or a fragment, perhaps
			l.next = now.Add(lookEach)
		}
		l.settle(now)
	}
}

// settle does all that is due behind a batch. Its frames are the queue's again then.
func (l *lane) settle(now tcp.Time) {
	l.woke = l.answer(now, true) || l.woke
	l.tick(now)
	l.attend(now)
	l.yield()
}

// revive has another goroutine read when a session has ended this one by runtime.Goexit: the other
// connections of the lane go on.
func (l *lane) revive() {
	if !l.ended {
		l.s.done.Go(l.run) // until Close closes its link
	}
}

// end ends what runs over the lane when its link is gone: nobody runs the timers of its connections
// any more, so they are reset, and their sessions are told.
func (l *lane) end() {
	l.gone.Store(true)
	if !l.s.closed.Load() { // otherwise Close resets them
		for _, c := range l.s.conns.all() {
			if c.lane == l {
				c.lose(l.s.now())
			}
		}
	}
	for !l.posts.empty() {
		l.attend(l.s.now())
	}
}

// yield lets an application that was woken run on this very thread, at once: while the reader goes
// on to wait in a system call, another thread would have to be woken to find it, which takes
// several times as long as all that the stack does.
func (l *lane) yield() {
	if l.woke {
		l.woke = false
		runtime.Gosched()
	}
}

// patience is how long the reader may wait; below zero for ever.
func (l *lane) patience() time.Duration {
	if !l.posts.empty() {
		return 0
	}
	now := l.s.now()
	wait := l.timers.wait(now)
	if l.next != 0 {
		if left := max(0, l.next.Sub(now)); wait < 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// answer lets the connections that the batch touched send, and says whether somebody was woken. A
// session that ends the goroutine leaves the others of them to the next.
func (l *lane) answer(now tcp.Time, reader bool) (woke bool) {
	for l.answered < len(l.touched) {
		c := l.touched[l.answered]
		l.touched[l.answered] = nil
		l.answered++
		c.touched = false
		woke = c.answer(now, reader) || woke
	}
	l.touched, l.answered = l.touched[:0], 0
	return woke
}

// touch has c answer when the batch is through.
func (l *lane) touch(c *Conn) {
	if !c.touched {
		c.touched = true
		l.touched = append(l.touched, c)
	}
}

// tick runs what is due.
func (l *lane) tick(now tcp.Time) {
	for c := l.timers.due(now); c != nil; c = l.timers.due(now) {
		l.woke = c.tick(now) || l.woke
	}
	if !l.looking.Swap(false) && l.next != 0 && now < l.next && now.Sub(l.checked) < lookEach {
		return
	}
	l.checked = now
	l.next = l.neighbours(now)
	l.unreached(now)
	l.conflicts(now)
	if at := l.fragments(now); at != 0 && (l.next == 0 || at < l.next) {
		l.next = at
	}
}

// neighbours asks again for those that have not answered, gives up those that will not, and claims
// the stack's own addresses.
func (l *lane) neighbours(now tcp.Time) tcp.Time {
	l.iface.mu.Lock()
	defer l.iface.mu.Unlock()
	next := l.iface.neigh.Tick(neigh.Time(now), actions{l})
	if at := l.iface.claims.Tick(neigh.Time(now), claiming{l}); at != 0 && (next == 0 || at < next) {
		next = at
	}
	l.iface.changes.Store(l.iface.neigh.Changes)
	return tcp.Time(next)
}

// fragments gives up packets that have not become whole in time.
func (l *lane) fragments(now tcp.Time) tcp.Time {
	s := l.s
	s.fragsMu.Lock()
	defer s.fragsMu.Unlock()
	return tcp.Time(s.fragments.Tick(ip.Time(now), func(first wire.IPv4) {
		s.drops.add(DropFragment)
		s.complain(first, false, wire.TimeExceeded, wire.ReassemblyExceeded, 0)
	}))
}
