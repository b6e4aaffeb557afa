package tcpip

import (
	"container/list"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"weir/serve"
	"weir/serve/lifecycle"
	"weir/tcpip/tcp"
)

// Server runs sessions in the goroutines that read the stack's links.
type Server struct {
	s        *Stack
	l        *Listener // nil: its connections are given to it
	service  serve.Service
	o        serve.Options
	stopping atomic.Bool
}

// Serve listens at a TCP address, as Listen does, and runs a session of the service on each
// connection. Sessions run in the goroutine that reads the connection's queue. No other goroutine
// is involved between a segment and its answer, and the acknowledgment is piggybacked on the
// answer. Serve is for services that answer small requests from memory. A session follows the rules
// of package serve: it is a state machine that never blocks. A session that waits for a lock
// or a file, or computes for long, also delays all other connections of the queue and their
// acknowledgments. For such services, use Listen and a goroutine for each connection.
//
// A session's methods are called by one goroutine at a time. Its output goes to the send buffer of
// the connection; while that is full, Input is not called.
//
// A session that returns an error has ended. Its output is still sent. If the peer accepts none of
// it for Options.FlushTimeout, or does not accept all within that time and one second more for each
// 1,024 bytes, the connection is reset. When all is sent, the connection is shut down for sending,
// and its input is discarded until the peer has finished too, for at most Options.LingerTimeout: a
// reset would destroy output in flight. If the peer resets the connection, a session that pauses or
// has unsent output ends at once; any other session first receives the input that has arrived. A
// call that ends its goroutine (runtime.Goexit) ends its session as a panic does. A session that
// returns syscall.ECONNRESET has its connection reset. A serve.HalfCloser goes on after the peer
// has finished sending. A Streamer is asked for output as there is room for it; a Taker may take a
// part of its input. The session's serve.Conn is a CloseWriter.
//
// Of o, the fields ReadSize, SendQueue, FlushTimeout, LingerTimeout and OnPanic are used.
func (s *Stack) Serve(address string, service serve.Service, o serve.Options) (*Server, error) {
	return (&ListenConfig{Stack: s}).Serve(address, service, o)
}

// Serve is Stack.Serve with options for its listener.
func (o *ListenConfig) Serve(address string, service serve.Service, so serve.Options) (*Server, error) {
	v := o.Stack.NewServer(so)
	v.service = service
	var err error
	if v.l, err = o.listen("tcp", address, v); err != nil {
		return nil, err
	}
	return v, nil
}

// Addr returns the address that the server listens at; nil: it has no listener.
func (v *Server) Addr() net.Addr {
	if v.l == nil {
		return nil
	}
	return v.l.Addr()
}

// Close closes the listener and starts the end of every session. A session that pauses is woken
// first. When a session has processed all input received, it ends with serve.ErrStopped. Close does
// not wait for that; Stack.Close does.
func (v *Server) Close() (err error) {
	if v.l != nil {
		err = v.l.Close()
	}
	v.stopping.Store(true)
	for _, c := range v.s.conns.all() {
		c.mu.Lock()
		session, _ := c.session.(*sessionConn)
		mine := session != nil && session.server == v
		c.mu.Unlock()
		if mine {
			c.reader.queueConn(c)
		}
	}
	return err
}

// startSessionLocked gives an established connection a session, which its reader opens. It reports
// whether it did: a server that stops does not. The caller holds mu.
func (v *Server) startSessionLocked(c *Conn) bool {
	if v.stopping.Load() {
		return false
	}
	c.session, c.turnPending = v.newSession(c, v.service.Open), true
	return true
}

// sessionStarter is a Server, and sessionRunner a sessionConn, for the rest of the stack. These are
// interfaces, so that the linker leaves sessions out of a program that calls no Serve.
type (
	sessionStarter interface {
		startSessionLocked(*Conn) bool
	}
	sessionRunner interface {
		runLocked(now tcp.Time)
		nextTimer() tcp.Time
	}
)

// newSession returns the connection of a session that open opens.
func (v *Server) newSession(c *Conn, open func(serve.Conn) serve.Session) *sessionConn {
	return &sessionConn{c: c, server: v, openSession: open}
}

// sessionConn is the connection of a session: a serve.Conn. The reader's goroutine calls the
// session; the connection's lock guards the other fields.
type sessionConn struct {
	c       *Conn
	server  *Server
	session serve.Session // nil before open, and if the service refused the connection
	// opens the session; nil once it has
	openSession func(serve.Conn) serve.Session

	taker        Taker    // session, if it is a Taker
	streamer     Streamer // session, if it is a Streamer
	streamIdle   bool     // it has nothing to send until its next call
	streamPieces int      // pieces sent in this turn

	unsentOutput []byte // output that the send buffer had no room for
	life         lifecycle.Session
	linger       lifecycle.Linger // once life has ended and all output and a FIN are sent
	lingerAt     tcp.Time         // when linger must be asked next; 0: it has not started
	calling      bool             // for the reader only: a call of the session is running
	inputGiven   int              // bytes of input of the running call
	stopError    error            // why the stack must end the session; nil: it need not

	// bytes of unsentOutput that count against the stack's limit on memory: see outputAccount
	chargedBytes int
	// the session's entry in outputAccount.byProgress; nil: unsentOutput is empty
	orderElement *list.Element
	// when the peer last accepted some of unsentOutput, or it became non-empty
	lastProgressAt tcp.Time
	// The connection is reset at the end of the session: some output was discarded for lack of
	// memory, or the session has asked for it.
	resetAtEnd bool
	finWanted  bool // CloseWrite was called: a FIN follows unsentOutput
	finQueued  bool // the FIN is in the send buffer: what the session sends is discarded

	// Post or Close was called, by any goroutine; Post's flag is cleared by the wake-up
	postRequested, closeRequested atomic.Bool
}

// runLocked calls the session until there is nothing to do. The caller is the reader's goroutine
// and holds the connection's lock, which is released during the calls.
func (v *sessionConn) runLocked(now tcp.Time) {
	v.c.turnPending, v.streamPieces = true, 0
	for v.step(now) {
	}
	v.c.turnPending = false
}

// step does the next thing that is due for the session: a call, or its end. It reports whether it
// did anything. The caller of step, and of the methods below that step calls, holds the
// connection's lock; callInput and call release it during the session's call.
func (v *sessionConn) step(now tcp.Time) (more bool) {
	v.sendWaiting(now)
	f := v.facts(now)
	step := v.life.Next(f)
	if step == lifecycle.Measure {
		step = v.life.Measured(v.c.tcp.Buffered(), 0)
	}
	switch {
	case v.life.HasEnded():
		v.closeStep(now, step)
		return false
	case step == lifecycle.Open:
		v.open(now)
	case v.stopError != nil:
		v.endSession(now, v.stopError)
	case step == lifecycle.EndClosed:
		v.endSession(now, serve.ErrClosed)
	case step == lifecycle.EndBroken:
		v.endSession(now, v.c.failureLocked())
	case step == lifecycle.EndStopped:
		v.endSession(now, v.stopReason())
	case step == lifecycle.Wake:
		v.wake(now, f)
	case step == lifecycle.Read:
		v.read(now, f)
	default:
		return step == lifecycle.Wait && v.canStreamLocked() && v.streamLocked()
	}
	return true
}

// facts returns what the reader knows of the connection.
func (v *sessionConn) facts(now tcp.Time) lifecycle.Facts {
	t := v.c.tcp
	f := v.life.Due(lifecycle.Time(now)) |
		lifecycle.When(t.Buffered() > 0 || t.AtEnd(), lifecycle.InputReady) |
		lifecycle.When(len(v.unsentOutput) > 0, lifecycle.OutputQueued) |
		lifecycle.When(v.taker != nil, lifecycle.Duplex) |
		lifecycle.When(v.postRequested.Load(), lifecycle.Posted) |
		lifecycle.When(v.closeRequested.Load(), lifecycle.CloseWanted) |
		lifecycle.When(v.server.stopping.Load() || v.c.s.closed.Load(), lifecycle.Stopping)
	if t.State() == tcp.Closed {
		return v.factsOfClosed(f)
	}
	return f
}

// factsOfClosed returns the facts of a connection that has failed, or was closed in order. A Taker
// that waits for room onward takes the rest of its input.
func (v *sessionConn) factsOfClosed(f lifecycle.Facts) lifecycle.Facts {
	if v.c.tcp.Buffered() == 0 || f&lifecycle.Stopping != 0 {
		f &^= lifecycle.InputReady
	} else if v.taker != nil && f&lifecycle.OutputQueued == 0 && v.c.failureLocked() == io.EOF {
		return f
	}
	return f&^lifecycle.Duplex | lifecycle.Broken
}

// stopReason returns why a stop ends the session.
func (v *sessionConn) stopReason() error {
	if v.c.s.closed.Load() {
		return net.ErrClosed
	}
	return serve.ErrStopped
}

// open has the service open the session.
func (v *sessionConn) open(now tcp.Time) {
	v.life.Opened()
	err := v.call(func() error {
		v.session = v.openSession(v)
		return nil
	})
	v.openSession = nil
	if v.session == nil || err != nil {
		v.endSession(now, err)
	}
	v.streamer, _ = v.session.(Streamer)
	v.taker, _ = v.session.(Taker)
}

// wake calls the session's Wake, which ends a pause.
func (v *sessionConn) wake(now tcp.Time, f lifecycle.Facts) {
	v.postRequested.Store(false)
	err := v.call(func() error { return v.session.Wake(time.Now(), &v.c.reader.sessionWriter) })
	v.applyResult(now, lifecycle.Wake, f, false, err)
}

// read gives the session the next bytes received, or their end.
func (v *sessionConn) read(now tcp.Time, f lifecycle.Facts) {
	switch {
	case v.c.tcp.Buffered() == 0:
		v.inputEnd(now, f)
		return
	case v.taker != nil:
		v.takeInputLocked(now, f)
		return
	}
	p := v.c.tcp.Peek(v.server.o.ReadSize)
	v.inputGiven = len(p)
	v.life.Took(len(p))
	err := v.callInput(p)
	v.c.tcp.Discard(now, v.inputGiven)
	v.inputGiven = 0
	v.applyResult(now, lifecycle.Read, f, false, err)
}

// inputEnd notifies the session that the peer has finished sending. This ends the session unless it
// is a HalfCloser.
func (v *sessionConn) inputEnd(now tcp.Time, f lifecycle.Facts) {
	v.life.InputEnded()
	half, ok := v.session.(serve.HalfCloser)
	if !ok {
		v.endSession(now, io.EOF)
		return
	}
	err := v.call(func() error { return half.InputEnd(&v.c.reader.sessionWriter) })
	v.applyResult(now, lifecycle.InputEnd, f, false, err)
}

// callInput is call for Input, without the cost of a closure.
func (v *sessionConn) callInput(p []byte) (err error) {
	v.c.mu.Unlock()
	v.calling = true
	defer v.recoverCall(&err)
	err = v.session.Input(p, &v.c.reader.sessionWriter)
	v.calling = false
	return err
}

// call calls the session with the lock released.
func (v *sessionConn) call(do func() error) (err error) {
	v.c.mu.Unlock()
	v.calling = true
	defer v.recoverCall(&err)
	err = do()
	v.calling = false
	return err
}

var errGoexit = errors.New("the session called runtime.Goexit")

// recoverCall takes the lock again after a call and converts a panic or Goexit to an error, which
// ends this connection only. A Goexit ends the reader's goroutine; the reader that replaces it ends
// the session.
func (v *sessionConn) recoverCall(err *error) {
	value := recover()
	died := v.calling
	v.calling = false
	if !died {
		v.c.mu.Lock()
		return
	}
	goexit := value == nil // not panic(nil): its value is a *runtime.PanicNilError
	if goexit {
		value = errGoexit
	}
	p := &serve.PanicError{Remote: v.RemoteAddr(), Value: value, Stack: debug.Stack()}
	if v.server.o.OnPanic != nil {
		v.server.o.OnPanic(*p)
	}
	v.c.reader.sessionWriter.Take() // discard the output of the failed call
	*err = p
	v.c.mu.Lock()
	if goexit {
		v.c.tcp.Discard(v.c.s.now(), v.inputGiven)
		v.inputGiven, v.stopError, v.c.turnPending = 0, p, false
		v.c.reader.queueConn(v.c)
	}
}

// applyResult applies the result of a call: the output, pause and wake-up time in the writer. The
// input is also paused if the session has left some of it.
func (v *sessionConn) applyResult(now tcp.Time, step lifecycle.Step, f lifecycle.Facts, leftSome bool, err error) {
	out, wakeAt, paused := v.c.reader.sessionWriter.Take()
	v.streamIdle = false
	if len(out) > 0 {
		v.send(now, out)
	}
	at := tcp.Time(0)
	if !wakeAt.IsZero() {
		at = max(now.Add(time.Until(wakeAt)), 1) // 0 would mean never
	}
	v.life.Called(step, f, paused || leftSome, lifecycle.Time(at))
	if err != nil {
		v.endSession(now, err)
	}
}

// endSession ends the session. Its output is still sent.
func (v *sessionConn) endSession(now tcp.Time, err error) {
	v.life.End(err, lifecycle.Time(now), len(v.unsentOutput), v.server.o.FlushTimeout)
	v.resetAtEnd = v.resetAtEnd || resetsPeer(err)
	if v.session != nil {
		v.call(func() error { v.session.Close(err); return nil }) //nolint:errcheck // it ends in any case
	}
}

// nextTimer returns when the session, or its end, is due next; 0: it has set no time.
func (v *sessionConn) nextTimer() tcp.Time {
	if v.lingerAt != 0 {
		return v.lingerAt
	}
	return tcp.Time(v.life.Timer())
}

// closeStep ends the connection of a session that has ended, as far as its output allows.
func (v *sessionConn) closeStep(now tcp.Time, step lifecycle.Step) {
	switch {
	case v.c.closedByApp:
	case v.c.tcp.State() == tcp.Closed || v.c.s.closed.Load():
		v.closeConn(now)
	case v.resetAtEnd || step == lifecycle.GiveUp:
		v.resetConn(now)
	case step == lifecycle.Finish:
		v.discard(now)
	}
}

// discard sends the FIN behind the output, and discards input until the peer finishes too or a
// limit is reached.
func (v *sessionConn) discard(now tcp.Time) {
	t := v.c.tcp
	if v.lingerAt == 0 {
		v.releaseOutput()
		v.life.Flushed()
		v.linger = lifecycle.NewLinger(lifecycle.Time(now), v.server.o.LingerTimeout)
		t.CloseWrite(now)
	}
	n := t.Buffered()
	t.Discard(now, n)
	v.linger.Discarded(n)
	step, at := v.linger.Next(lifecycle.Time(now), lifecycle.When(t.PeerFinished(), lifecycle.Broken))
	if v.lingerAt = tcp.Time(at); step == lifecycle.Finish {
		v.closeConn(now)
	}
}

// closeConn closes the connection after its session's end.
func (v *sessionConn) closeConn(now tcp.Time) {
	v.releaseOutput()
	v.lingerAt = 0
	v.life.Flushed()
	v.c.closeLocked(now)
}

// resetConn resets the connection after its session's end. The session stands for the application,
// so that closedByApp is set.
func (v *sessionConn) resetConn(now tcp.Time) {
	v.releaseOutput()
	v.life.Flushed()
	v.c.closedByApp = true
	v.c.tcp.Abort(now)
}

// Post implements serve.Conn.
func (v *sessionConn) Post() {
	v.postRequested.Store(true)
	v.c.reader.queueConn(v.c)
}

// Close implements serve.Conn.
func (v *sessionConn) Close() {
	v.closeRequested.Store(true)
	v.c.reader.queueConn(v.c)
}

// RemoteAddr implements serve.Conn.
func (v *sessionConn) RemoteAddr() net.Addr { return v.c.RemoteAddr() }
