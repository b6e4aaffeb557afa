package serve

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"weir/serve/lifecycle"
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
	resetAtClose()       // makes the close of the connection reset it
	arm(until time.Time) // sets the deadline of Read and Write (zero: none); clears interrupts
	// waits until that time (zero: no limit), an interrupt, the stop or a reset
	waitEvent(until time.Time) error
	isStopping() bool // the service is stopping
	// queuedInput returns how many bytes have arrived and are not read (UnknownInput: it
	// cannot tell), and how many more TLS may have read and not returned.
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
	life           lifecycle.Session
	startedAt      time.Time // zero of the clock of life
	deadlinesStale bool      // the host's deadlines differ from the timer of life
	interrupted    bool      // a deadline or an interrupt has ended a read, a write or a wait
	inputDone      bool      // the service stops, and all input that had arrived was read
	inCall         bool      // a call of the session is under way
	closed         bool      // the session's Close was called, or the session has moved
	moveAsked      bool      // Movable.Move was called

	outbox         outbox
	posted         atomic.Bool
	closeRequested atomic.Bool
}

// hostSession returns a handler that runs a session of the service. m is nil for an accepted
// connection.
func hostSession(w *serviceForm, o *Options, n *counterShard, m *MovedConn) func(net.Conn) {
	return func(c net.Conn) {
		h := &blockingSession{sessionHost: c.(sessionHost), options: o, counters: n, startedAt: time.Now()}
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
	if h.life.Opened(); err != nil || h.session == nil {
		return ErrClosed
	}
	for err == nil {
		if h.move() {
			h.closed = true
			return nil
		}
		if err = h.step(); err == ErrStopped && h.shouldMove() {
			err = nil // the session must be asked to move first
		}
	}
	return err
}

// end waits for the peer to take the queued output, and calls the session's Close.
func (h *blockingSession) end(err error) {
	if h.closed {
		return
	}
	h.closed = true
	h.outbox.close()
	if h.closeRequested.Load() {
		err = ErrClosed
	}
	h.life.End(err, h.now(), h.outbox.length(), h.options.FlushTimeout)
	if !h.flushAtEnd() {
		h.resetAtClose() // what the peer has received must not look complete
	}
	if h.session != nil {
		contain(*h.options, h.counters, h.RemoteAddr(), func() error { h.session.Close(h.life.Reason()); return nil })
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
	f := h.facts()
	step := h.life.Next(f)
	if step == lifecycle.Measure {
		step = h.life.Measured(h.queuedInput())
	}
	switch step {
	case lifecycle.Wake:
		return h.wake(f)
	case lifecycle.Read:
		return h.readInput(f)
	case lifecycle.Flush:
		return h.flush(nil)
	case lifecycle.EndClosed:
		return ErrClosed
	case lifecycle.EndStopped:
		return ErrStopped
	}
	h.deadlinesStale, h.interrupted = true, true
	return h.waitEvent(h.timer())
}

// facts returns what the owner knows of the connection. It can always read, because a read waits.
// The stop comes before posted, so that a post before the stop is seen.
func (h *blockingSession) facts() lifecycle.Facts {
	f := lifecycle.When(!h.inputDone, lifecycle.InputReady) |
		lifecycle.When(h.isStopping(), lifecycle.Stopping) |
		lifecycle.When(h.posted.Load(), lifecycle.Posted) |
		lifecycle.When(h.closeRequested.Load(), lifecycle.CloseWanted) |
		lifecycle.When(h.outbox.nonEmpty.Load(), lifecycle.OutputQueued)
	if h.interrupted {
		h.interrupted = false
		f |= h.life.Due(h.now())
	}
	return f
}

// now returns the time for the life of the session, which is never zero.
func (h *blockingSession) now() lifecycle.Time { return h.at(time.Now()) }

func (h *blockingSession) at(t time.Time) lifecycle.Time {
	return max(1, lifecycle.Time(t.Sub(h.startedAt)))
}

// timer returns when the session is due; zero: it has set no time.
func (h *blockingSession) timer() time.Time {
	at := h.life.Timer()
	if at == 0 {
		return time.Time{}
	}
	return h.startedAt.Add(time.Duration(at))
}

// readInput waits for input and gives it to the session.
func (h *blockingSession) readInput(f lifecycle.Facts) error {
	n, err := h.Read(h.readBuf)
	switch {
	case n > 0:
		h.life.Took(n)
		return h.applyWriter(lifecycle.Read, f, h.call(lifecycle.Read, h.readBuf[:n], time.Time{}))
	case err == ErrStopped:
		h.inputDone = true // before its end the session may have to be asked to move, or be woken
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.deadlinesStale, h.interrupted = true, true
		return nil
	case survivesEOF(h.session, err):
		h.life.InputEnded()
		return h.applyWriter(lifecycle.Read, f, h.call(lifecycle.InputEnd, nil, time.Time{}))
	}
	return err
}

// setDeadlines makes reads and writes end when the session is due to wake. It clears interrupts.
// One that came before is visible in what was stored before it, and is repeated; a later one meets
// the new deadlines.
func (h *blockingSession) setDeadlines() {
	h.deadlinesStale = false
	h.arm(h.timer())
	if h.posted.Load() || h.closeRequested.Load() || h.shouldMove() {
		h.interrupt()
	}
}

// flush writes the queue and then own. If a wake-up interrupts it, a later step writes the rest.
func (h *blockingSession) flush(own []byte) error {
	err := h.outbox.writeAll(own, h.Write)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.interrupted, h.deadlinesStale = true, true
		return nil
	}
	return err
}

// flushPart is the largest part of one Write at the end of a session. Over TLS, where a Write that
// its deadline cut short cannot be continued, a peer has to take one part within
// Options.FlushTimeout. It is the largest TLS record (RFC 8446, 5.1).
const flushPart = 16 << 10

// flushAtEnd waits for the peer to take the output that is left, within the bounds of life, and
// reports whether it was in time. After a Close it does not wait.
func (h *blockingSession) flushAtEnd() (inTime bool) {
	if h.closeRequested.Load() {
		// an interrupt has set a deadline that is past
		h.SetDeadline(time.Now().Add(h.options.FlushTimeout))
		h.outbox.flush(h) //nolint:errcheck // the connection ends in any case
		return true
	}
	for {
		step := h.life.Next(h.facts())
		if step != lifecycle.Flush {
			return step != lifecycle.GiveUp
		}
		h.interrupted = true
		if err := h.outbox.writeAll(nil, h.flushParts); err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || !h.resumesWrites()) {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// flushParts writes p in parts, each until the time of life, which the peer moves by taking some.
// os.ErrDeadlineExceeded means that this time has come, or that an interrupt ended the Write.
func (h *blockingSession) flushParts(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, flushPart) {
		h.SetDeadline(h.timer())
		if h.closeRequested.Load() || h.shouldMove() && h.canMove() {
			return n, ErrClosed
		}
		wrote, err := h.Write(part)
		if n += wrote; wrote > 0 {
			h.life.Progressed(h.now(), h.options.FlushTimeout)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// wake calls the session's Wake.
func (h *blockingSession) wake(f lifecycle.Facts) error {
	h.posted.Store(false)
	h.counters.wakes.add(1)
	h.deadlinesStale = true
	return h.applyWriter(lifecycle.Wake, f, h.call(lifecycle.Wake, nil, time.Now()))
}

// applyWriter carries out what the session requested of its writer in the call of a step: pause,
// wake-up time, output.
func (h *blockingSession) applyWriter(step lifecycle.Step, f lifecycle.Facts, err error) error {
	w := &h.writer
	defer h.returnBuffer(w)
	defer w.reset()
	at := lifecycle.Time(0)
	if !w.wakeAt.IsZero() {
		at, h.deadlinesStale = h.at(w.wakeAt), true
	}
	h.life.Called(step, f, w.pauseInput, at)
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

// call makes the session's call of a step.
func (h *blockingSession) call(step lifecycle.Step, in []byte, now time.Time) (err error) {
	defer h.recover(&err)
	h.lendBuffer(&h.writer)
	h.inCall = true
	err = callSession(h.session, step, in, now, &h.writer)
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
	return h.afterSend(h.outbox.put(p, h, h.options.SendQueue))
}

// output implements batchConn.
func (h *blockingSession) output() (*outbox, nonblockingWriter, int) {
	return &h.outbox, h.sessionHost, h.options.SendQueue
}

// afterSend implements batchConn, and reports whether the bytes were taken. It interrupts the owner
// if bytes are queued that the owner may not have seen.
func (h *blockingSession) afterSend(taken bool) bool {
	if !taken {
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
