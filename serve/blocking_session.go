package serve

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// sessionHost is a net.Conn that can run a session: its owner blocks on it, and other goroutines
// interrupt the owner.
type sessionHost interface {
	net.Conn
	nonblockingWriter
	// interrupt ends a Read, Write or wait that is under way, or the next one. Any goroutine may
	// call it.
	interrupt()
	// interrupts also a Write that must not be interrupted, which breaks the connection; any
	// goroutine
	abandon()
	arm(until time.Time) // sets the deadline of Read and Write (zero: none); clears interrupts
	// waits until that time (zero: no limit), an interrupt, the stop or a reset
	waitEvent(until time.Time) error
	isStopping() bool // the service is stopping
	// queuedInput returns how many bytes have arrived and are not read (unknownInput: it cannot
	// tell), and how many more TLS may have read and not returned.
	queuedInput() (queued, buffered int)
	handsOver() bool // the service is stopping to hand over (ErrHandover)

	canMove() bool
	// resumesWrites reports whether a Write that its deadline cut short can be continued. Over TLS
	// it cannot.
	resumesWrites() bool

	sharedBuffer() []byte   // to read into, for the session that runs; nil: none
	lendBuffer(w *Writer)   // gives w a buffer, if w has none between calls
	returnBuffer(w *Writer) // takes the buffer of w back

	// detach returns the connection's descriptor, which the caller then owns, if there is one and
	// ask returns true.
	detach(ask func() bool) (fd int, ok bool)
}

// blockingSession runs a session with blocking reads and writes on a sessionHost. Its owner, a
// goroutine or coroutine of serve, alone calls the session. Other goroutines set posted or add to
// the outbox, and interrupt the owner.
type blockingSession struct {
	sessionHost
	options  *Options
	counters *counterShard
	session  Session
	serveErr *error // why serve ends, for a Goexit
	readBuf  []byte

	writer         Writer
	wakeAt         time.Time // zero: no wake-up is set
	inputPaused    bool
	inputEnded     bool // the peer has finished, and the session goes on (HalfCloser)
	pauseCut       bool // a stop has ended this pause, or the one before, early
	deadlinesStale bool // the host's deadlines differ from wakeAt
	inCall         bool // a call of the session is under way
	ended          bool // Close was called, or the session has moved
	drain          drainBudget
	// a write was interrupted, by wakeAt or by an interrupt, before all was taken
	writeInterrupted bool
	moveAsked        bool // Movable.Move was called

	outbox         outbox
	posted         atomic.Bool
	closeRequested atomic.Bool
}

// hostSession returns a handler that runs a session of the service. m is nil for an accepted
// connection.
func hostSession(w *serviceForm, o *Options, n *counterShard, m *MovedConn) func(net.Conn) {
	return func(c net.Conn) {
		h := &blockingSession{sessionHost: c.(sessionHost), options: o, counters: n}
		if h.readBuf = h.sharedBuffer(); h.readBuf == nil {
			h.readBuf = make([]byte, o.ReadSize)
		}
		h.outbox.preload(m.unsent())
		h.serve(w.opener(m))
	}
}

func (h *blockingSession) serve(open func(Conn) Session) {
	err := ErrGoexit // the result unless serve returns
	defer func() {
		h.end(err)
		h.outbox.release() // the Conn may still be in use
	}()
	h.serveErr = &err
	err = h.run(open)
}

// run runs the session and returns why it ended; nil if it was handed over.
func (h *blockingSession) run(open func(Conn) Session) error {
	err := contain(*h.options, h.counters, h.RemoteAddr(), func() error {
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
		if err = h.step(); err == ErrStopped && (h.shouldMove() || h.posted.Load()) {
			err = nil // the session must be asked to move, or woken, first
		}
	}
	return err
}

// end waits for the peer to take the queued output, and calls the session's Close.
func (h *blockingSession) end(err error) {
	if h.ended {
		return
	}
	h.ended = true
	h.flushAtEnd()
	if h.closeRequested.Load() {
		err = ErrClosed
	}
	if h.session != nil {
		contain(*h.options, h.counters, h.RemoteAddr(), func() error { h.session.Close(err); return nil })
	}
}

// shouldMove reports whether the session must be asked for its state now.
func (h *blockingSession) shouldMove() bool { return !h.moveAsked && h.handsOver() }

// move hands the connection over, if a handover is due and the session agrees. It reports whether
// it did.
func (h *blockingSession) move() bool {
	if !h.shouldMove() {
		return false
	}
	h.moveAsked, h.deadlinesStale = true, true
	if h.closeRequested.Load() {
		return false
	}
	var state []byte
	fd, ok := h.detach(func() (ok bool) {
		state, ok = askToMove(h.session, *h.options, h.counters, h, &h.writer)
		return ok
	})
	if !ok {
		return false
	}
	h.outbox.put(h.writer.buf, h, -1)
	h.options.OnMove(MovedConn{FD: fd, Unsent: h.outbox.takeRest(), State: state})
	return true
}

// step waits for one event, or for the peer to take queued output, and calls the session.
func (h *blockingSession) step() error {
	if h.deadlinesStale {
		h.setDeadlines()
	}
	switch {
	case h.closeRequested.Load():
		return ErrClosed
	case h.posted.Swap(false):
		return h.wake(time.Now())
	case h.writeInterrupted:
		h.writeInterrupted = false
		return h.wakeIfDue()
	case h.outbox.nonEmpty.Load():
		return h.flush(nil)
	case h.inputPaused:
		return h.waitPaused()
	case h.inputEnded:
		return h.waitAfterInput()
	}
	if h.isStopping() && h.drain.spent(h.queuedInput()) {
		return ErrStopped
	}
	n, err := h.Read(h.readBuf)
	if n > 0 {
		h.drain.read(n)
		h.pauseCut = false
		return h.applyWriter(h.callInput(h.readBuf[:n]))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.deadlinesStale = true
		return h.wakeIfDue()
	}
	if half := halfCloser(h.session, err); half != nil {
		h.inputEnded = true
		return h.applyWriter(h.callInputEnd(half))
	}
	return err
}

// waitAfterInput waits for events after the end of input.
func (h *blockingSession) waitAfterInput() error {
	if h.isStopping() {
		return ErrStopped
	}
	h.deadlinesStale = true
	if err := h.waitEvent(h.wakeAt); err != nil {
		return err
	}
	return h.wakeIfDue()
}

func (h *blockingSession) callInputEnd(half HalfCloser) (err error) {
	defer h.recover(&err)
	h.inCall = true
	err = half.InputEnd(&h.writer)
	h.inCall = false
	return err
}

// setDeadlines makes reads and writes end when the session is due to wake. It clears interrupts.
// One that came before is visible in what was stored before it, and is repeated; a later one meets
// the new deadlines.
func (h *blockingSession) setDeadlines() {
	h.deadlinesStale = false
	h.arm(h.wakeAt)
	if h.posted.Load() || h.closeRequested.Load() || h.shouldMove() {
		h.interrupt()
	}
}

// flush writes the queue and then own. If a wake-up interrupts it, step writes the rest.
func (h *blockingSession) flush(own []byte) error {
	err := h.outbox.writeAll(own, h.Write)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.writeInterrupted, h.deadlinesStale = true, true
		return nil
	}
	return err
}

// flushPart is the largest part of one Write at the end of a session. Over TLS, where a Write that
// its deadline cut short cannot be continued, a peer has to take one part within
// Options.FlushTimeout. It is the largest TLS record (RFC 8446, 5.1).
const flushPart = 16 << 10

// flushAtEnd waits for the peer to take the output that is left, as long as it takes some within
// Options.FlushTimeout. flushBound limits the total. After a Close it does not wait.
func (h *blockingSession) flushAtEnd() {
	h.outbox.close()
	if h.closeRequested.Load() {
		// an interrupt has set a deadline that is past
		h.SetDeadline(time.Now().Add(h.options.FlushTimeout))
		h.outbox.flush(h) //nolint:errcheck // the connection ends in any case
		return
	}
	last := time.Now().Add(h.options.flushBound(h.outbox.length()))
	for h.outbox.length() > 0 && time.Now().Before(last) {
		err := h.outbox.writeAll(nil, func(p []byte) (int, error) { return h.flushParts(p, last) })
		if !errors.Is(err, os.ErrDeadlineExceeded) || !h.resumesWrites() {
			return
		}
	}
}

// flushParts writes p in parts. For each the peer has Options.FlushTimeout, at most until last.
// os.ErrDeadlineExceeded means that it took some, or that an interrupt ended the Write.
func (h *blockingSession) flushParts(p []byte, last time.Time) (n int, err error) {
	for part := range slices.Chunk(p, flushPart) {
		until := earlier(time.Now().Add(h.options.FlushTimeout), last)
		h.SetDeadline(until)
		if h.closeRequested.Load() || h.shouldMove() && h.canMove() {
			return n, ErrClosed
		}
		wrote, err := h.Write(part)
		n += wrote
		if err != nil && wrote == 0 && !time.Now().Before(until) {
			return n, errFlushTimeout
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// errFlushTimeout is that the peer took nothing for Options.FlushTimeout.
var errFlushTimeout = errors.New("the peer takes no output")

// waitPaused waits while the session's input is paused.
func (h *blockingSession) waitPaused() error {
	if h.isStopping() && !h.pauseCut {
		h.pauseCut = true
		return h.wake(time.Now())
	}
	h.deadlinesStale = true
	if err := h.waitEvent(h.wakeAt); err != nil {
		return err
	}
	return h.wakeIfDue()
}

func (h *blockingSession) wakeIfDue() error {
	if now := time.Now(); !h.wakeAt.IsZero() && !now.Before(h.wakeAt) {
		return h.wake(now)
	}
	return nil
}

func (h *blockingSession) wake(now time.Time) (err error) {
	h.counters.wakes.add(1)
	h.inputPaused, h.wakeAt, h.deadlinesStale = false, time.Time{}, true
	return h.applyWriter(h.callWake(now))
}

// applyWriter carries out what the session requested of its writer: pause, wake-up time, output.
func (h *blockingSession) applyWriter(err error) error {
	w := &h.writer
	defer h.returnBuffer(w)
	defer w.reset()
	h.inputPaused = h.inputPaused || w.pauseInput
	if !w.wakeAt.IsZero() {
		h.wakeAt, h.deadlinesStale = w.wakeAt, true
	}
	if len(w.buf) == 0 && !h.outbox.nonEmpty.Load() {
		return err
	}
	if err != nil {
		h.outbox.put(w.buf, h, -1) // flushAtEnd waits for what the kernel does not take
		return err
	}
	if h.deadlinesStale {
		h.setDeadlines()
	}
	return h.flush(w.buf)
}

func (h *blockingSession) callInput(in []byte) (err error) {
	defer h.recover(&err)
	h.lendBuffer(&h.writer)
	h.inCall = true
	err = h.session.Input(in, &h.writer)
	h.inCall = false
	return err
}

func (h *blockingSession) callWake(now time.Time) (err error) {
	defer h.recover(&err)
	h.lendBuffer(&h.writer)
	h.inCall = true
	err = h.session.Wake(now, &h.writer)
	h.inCall = false
	return err
}

func (h *blockingSession) recover(err *error) {
	v := recover()
	if v == nil && !h.inCall {
		return
	}
	h.inCall = false
	h.writer.reset()
	if v != nil {
		*err = panicked(*h.options, h.counters, h.RemoteAddr(), v)
		return
	}
	// *err is not returned: the goroutine ends
	*h.serveErr = panicked(*h.options, h.counters, h.RemoteAddr(), ErrGoexit)
}

// Send implements Conn. It reports whether the bytes were written or queued.
func (h *blockingSession) Send(p []byte) bool {
	if !h.outbox.put(p, h, h.options.SendQueue) {
		h.counters.sendsRefused.Add(1)
		return false
	}
	if h.outbox.nonEmpty.Load() && h.outbox.hasOrphans() {
		h.interrupt()
	}
	return true
}

// Post implements Conn.
func (h *blockingSession) Post() {
	h.posted.Store(true)
	h.interrupt()
}

// Close implements Conn. It hides the host's Close, which closes at once.
func (h *blockingSession) Close() {
	h.closeRequested.Store(true)
	h.abandon()
}
