package serve

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// host is a net.Conn that can run a session: written straight down by its owner, and poked by
// others.
type host interface {
	net.Conn
	taker
	// ends a Read or Write, as a deadline does, or a pause; any goroutine
	poke()
	abandon()                   // a poke that breaks the connection if a Write waits; any goroutine
	arm(until time.Time)        // sets the deadline of Read and Write (zero: none); forgets pokes
	hold(until time.Time) error // waits until then (zero: for ever), a poke, the stop or a reset
	stops() bool                // the service is stopping
	handsOver() bool            // likewise, by ErrHandOver

	canMove() bool

	sharedBuffer() []byte // to read into, for the session that runs; nil: none
	lend(w *Writer)       // gives w a buffer, if it may do without one between calls
	takeBack(w *Writer)   // takes it back

	// detach returns the connection's descriptor, which is the caller's, if there is one and ask
	// agrees.
	detach(ask func() bool) (fd int, ok bool)
}

// hosted runs a session straight down on a host. Its owner is the goroutine or coroutine of serve,
// which alone calls the session; others leave word in posted and in the outbox, and poke it.
type hosted struct {
	host
	o       *Options
	lane    *lane
	session Session
	exit    *error // why serve ends, should a Goexit end it
	buf     []byte

	w       Writer
	wakeAt  time.Time // zero: no time
	held    bool
	noInput bool // the peer has finished, and the session goes on
	cut     bool // a stop has ended this hold, or the one before, ahead of its time
	rearm   bool // the deadlines are not wakeAt
	inCall  bool // the session is being called
	ended   bool // it has been told of its end
	early   bool // a write has ended before all was taken: by wakeAt or by a poke
	asked   bool // whether it moves

	out      outbox
	posted   atomic.Bool
	unwanted atomic.Bool
}

// hostSession makes a handler of a service of sessions. Moved is nil for a connection that was
// accepted.
func hostSession(w *work, o *Options, n *lane, m *Moved) func(net.Conn) {
	return func(c net.Conn) {
		h := &hosted{host: c.(host), o: o, lane: n}
		if h.buf = h.sharedBuffer(); h.buf == nil {
			h.buf = make([]byte, o.Read)
		}
		h.out.begin(m.unsent())
		h.serve(w.opener(m))
	}
}

func (h *hosted) serve(open func(Conn) Session) {
	err := ErrGoexit // unless serve returns
	defer func() {
		h.end(err)
		h.out.close() // the Conn may still be in use, and its descriptor reused
	}()
	h.exit = &err
	err = h.run(open)
}

// run runs the session, and returns why it is to end; nil when it was handed over.
func (h *hosted) run(open func(Conn) Session) error {
	err := contain(*h.o, h.lane, h.RemoteAddr(), func() error {
		h.session = open(h)
		return nil
	})
	if err != nil || h.session == nil {
		return ErrClosed
	}
	for err == nil {
		if h.move() {
			h.ended = true
			return nil
		}
		if err = h.step(); err == ErrStopped && (h.moves() || h.posted.Load()) {
			err = nil // it has to be asked, or woken, first
		}
	}
	return err
}

// end lets the peer take the output that waits, and calls Close of the session, if there is one.
func (h *hosted) end(err error) {
	if h.ended {
		return
	}
	h.ended = true
	h.linger()
	if h.unwanted.Load() {
		err = ErrClosed
	}
	if h.session != nil {
		contain(*h.o, h.lane, h.RemoteAddr(), func() error { h.session.Close(err); return nil })
	}
}

// moves says whether the session is to be asked for its state.
func (h *hosted) moves() bool { return !h.asked && h.handsOver() }

// move hands the connection over, if it is time and the session agrees.
func (h *hosted) move() bool {
	if !h.moves() {
		return false
	}
	h.asked, h.rearm = true, true
	if h.unwanted.Load() {
		return false
	}
	var state []byte
	fd, ok := h.detach(func() (ok bool) {
		state, ok = askToMove(h.session, *h.o, h.lane, h, &h.w)
		return ok
	})
	if !ok {
		return false
	}
	h.out.put(h.w.buf, h, -1)
	h.o.Moved(Moved{FD: fd, Unsent: h.out.take(), State: state})
	return true
}

// step waits for something to happen, or for the peer to take what waits, and tells the session.
func (h *hosted) step() error {
	if h.rearm {
		h.setDeadlines()
	}
	switch {
	case h.unwanted.Load():
		return ErrClosed
	case h.posted.Swap(false):
		return h.wake(time.Now())
	case h.early:
		h.early = false
		return h.wakeIfDue()
	case h.out.waiting.Load():
		return h.flush(nil)
	case h.held:
		return h.rest()
	case h.noInput:
		return h.listen()
	}
	n, err := h.Read(h.buf)
	if n > 0 {
		h.cut = false
		return h.settle(h.input(h.buf[:n]))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.rearm = true
		return h.wakeIfDue()
	}
	if half := halfCloser(h.session, err); half != nil {
		h.noInput = true
		return h.settle(h.inputEnd(half))
	}
	return err
}

// listen waits for what may come after the end of input.
func (h *hosted) listen() error {
	if h.stops() {
		return ErrStopped
	}
	h.rearm = true
	if err := h.hold(h.wakeAt); err != nil {
		return err
	}
	return h.wakeIfDue()
}

func (h *hosted) inputEnd(half HalfCloser) (err error) {
	defer h.recover(&err)
	h.inCall = true
	err = half.InputEnd(&h.w)
	h.inCall = false
	return err
}

// setDeadlines has reads and writes end when the session is to be woken. It forgets pokes: one that
// came before is seen by what was stored before it, and repeated; one that comes later finds the
// deadlines set.
func (h *hosted) setDeadlines() {
	h.rearm = false
	h.arm(h.wakeAt)
	if h.posted.Load() || h.unwanted.Load() || h.moves() {
		h.poke()
	}
}

// flush writes what waits and then own. What is left when the session must be woken first waits for
// step.
func (h *hosted) flush(own []byte) error {
	err := h.out.drain(own, h.Write)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.early, h.rearm = true, true
		return nil
	}
	return err
}

// linger lets the peer take what was sent before the end, as long as it takes some within
// Options.Linger. Whatever little it takes at a time, there is an end to it.
func (h *hosted) linger() {
	h.out.close()
	left, now := h.out.length(), time.Now()
	last := now.Add(h.o.flushBound(left))
	for until := now.Add(h.o.Linger); left > 0 && now.Before(last); {
		h.SetDeadline(until)
		if h.unwanted.Load() || h.moves() && h.canMove() {
			return
		}
		err := h.out.drain(nil, h.Write)
		still := h.out.length()
		now = time.Now()
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || still == left && !now.Before(until)) {
			return
		}
		if still < left {
			left, until = still, earlier(now.Add(h.o.Linger), last)
		}
	}
}

// rest waits while the session holds.
func (h *hosted) rest() error {
	if h.stops() && !h.cut {
		h.cut = true
		return h.wake(time.Now())
	}
	h.rearm = true
	if err := h.hold(h.wakeAt); err != nil {
		return err
	}
	return h.wakeIfDue()
}

func (h *hosted) wakeIfDue() error {
	if now := time.Now(); !h.wakeAt.IsZero() && !now.Before(h.wakeAt) {
		return h.wake(now)
	}
	return nil
}

func (h *hosted) wake(now time.Time) (err error) {
	h.lane.wakes.add(1)
	h.held, h.wakeAt, h.rearm = false, time.Time{}, true
	return h.settle(h.callWake(now))
}

// settle does what the session asked of its writer.
func (h *hosted) settle(err error) error {
	w := &h.w
	defer h.takeBack(w)
	defer w.reset()
	h.held = h.held || w.hold
	if !w.at.IsZero() {
		h.wakeAt, h.rearm = w.at, true
	}
	if len(w.buf) == 0 && !h.out.waiting.Load() {
		return err
	}
	if err != nil {
		h.out.put(w.buf, h, -1) // what the kernel does not take is linger's
		return err
	}
	if h.rearm {
		h.setDeadlines()
	}
	return h.flush(w.buf)
}

func (h *hosted) input(in []byte) (err error) {
	defer h.recover(&err)
	h.lend(&h.w)
	h.inCall = true
	err = h.session.Input(in, &h.w)
	h.inCall = false
	return err
}

func (h *hosted) callWake(now time.Time) (err error) {
	defer h.recover(&err)
	h.lend(&h.w)
	h.inCall = true
	err = h.session.Wake(now, &h.w)
	h.inCall = false
	return err
}

func (h *hosted) recover(err *error) {
	v := recover()
	if v == nil && !h.inCall {
		return
	}
	h.inCall = false
	h.w.reset()
	if v != nil {
		*err = panicked(*h.o, h.lane, h.RemoteAddr(), v)
		return
	}
	*h.exit = panicked(*h.o, h.lane, h.RemoteAddr(), ErrGoexit) // nobody receives *err
}

// Send implements Conn.
func (h *hosted) Send(p []byte) bool {
	if !h.out.put(p, h, h.o.Queue) {
		h.lane.refused.Add(1)
		return false
	}
	if h.out.waiting.Load() && h.out.stranded() {
		h.poke()
	}
	return true
}

// Post implements Conn.
func (h *hosted) Post() {
	h.posted.Store(true)
	h.poke()
}

// Close implements Conn. It hides the host's, which closes at once.
func (h *hosted) Close() {
	h.unwanted.Store(true)
	h.abandon()
}
