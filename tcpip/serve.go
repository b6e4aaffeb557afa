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
	"weir/tcpip/tcp"
)

// Server runs a service's sessions in the goroutines that read the stack's links.
type Server struct {
	s        *Stack
	l        *Listener
	service  serve.Service
	o        serve.Options
	stopping atomic.Bool
}

// Serve takes connections at a TCP address of the stack's, as Listen does, and runs a session of
// the service on each, in the goroutine that reads the connection's queue: from a segment to the
// answer there is no other goroutine, and an acknowledgment goes with the answer. It is for
// services that answer small requests from memory. A session is what package serve has (a state
// machine that never blocks), and lives by the same promises; but here whatever takes it long, a
// lock or a file or a computation, also holds up every other connection of the queue, and their
// acknowledgments. A goroutine that Listen's Accept feeds is for all others.
//
// A session's calls come from one goroutine, one after the other. Its output goes to the
// connection's buffer; while that is full, there is no Input. When the session has ended by an
// error, what it had written is still sent, for as long as Options.FlushTimeout lets the peer take
// none of it. When the peer resets the connection, a session that holds, or whose output waits,
// ends at once; any other first gets the input that has come. A call that ends its goroutine
// (runtime.Goexit) ends its session as a panic does. A session that is a serve.HalfCloser goes on
// when its peer has finished. A connection whose session has ended is shut down for sending, and
// its input is discarded until the peer finishes too, for Options.LingerTimeout at most: a reset
// would lose output that is under way. Of o, Read, Queue, Linger, LingerClose and Panicked count.
func (s *Stack) Serve(address string, service serve.Service, o serve.Options) (*Server, error) {
	setDefault(&o.ReadSize, 4096)
	setDefault(&o.SendQueue, 256<<10)
	setDefault(&o.FlushTimeout, 30*time.Second)
	setDefault(&o.LingerTimeout, 2*time.Second)
	v := &Server{s: s, service: service, o: o}
	var err error
	if v.l, err = s.listen("tcp", address, v); err != nil {
		return nil, err
	}
	return v, nil
}

// Addr is where connections are taken.
func (v *Server) Addr() net.Addr { return v.l.Addr() }

// Close takes no more connections and has every session end, by serve.ErrStopped, when it has had
// what has come and been woken from its hold; Close does not wait for that, the stack's Close does.
func (v *Server) Close() error {
	err := v.l.Close()
	v.stopping.Store(true)
	for _, c := range v.s.conns.all() {
		c.mu.Lock()
		mine := c.served != nil && c.served.server == v
		c.mu.Unlock()
		if mine {
			c.lane.post(c)
		}
	}
	return err
}

// take has a connection that is open run a session, when its lane comes to it. The caller holds mu.
func (v *Server) take(c *Conn) bool {
	if v.stopping.Load() {
		return false
	}
	c.served = &served{c: c, server: v, turning: true, discards: discardMost}
	return true
}

// served is a session on its connection. Its lane's goroutine calls the session; all else is
// guarded by the connection's lock.
type served struct {
	c       *Conn
	server  *Server
	session serve.Session // nil before it is opened, and when the connection was refused

	rest []byte // of the output, what the connection's buffer had no room for
	// when the session is to be woken; once it has ended, when rest is given up, or discarding
	// input. 0: never
	wakeAt  tcp.Time
	opened  bool
	held    bool
	cut     bool  // a stop has ended this hold
	noInput bool  // the peer has finished, and the session was told
	over    bool  // the session has ended
	turning bool  // the lane sees to it
	running bool  // a call of the session is under way; the lane's goroutine only
	given   int   // bytes of input that the call under way was given
	failed  error // why the session is to end that the stack ends; nil: it is not to

	discards   int  // bytes of input that are still discarded once the session has ended
	discarding bool // its output is in the connection's buffer, with the end behind it

	counted   int           // bytes that rest counts for
	place     *list.Element // in unsent.order; nil: rest is empty
	tookAt    tcp.Time      // when the peer last took some of rest, or rest began to wait
	truncated bool          // some of the output was thrown away

	posted, unwanted atomic.Bool
}

// turn calls the session as long as there is something to tell it. The caller is the lane's
// goroutine and holds the lock, which is let go of during the calls.
func (v *served) turn(now tcp.Time) {
	v.turning = true
	for v.step(now) {
	}
	v.turning = false
}

func (v *served) step(now tcp.Time) (more bool) {
	t, stopping := v.c.tcp, v.server.stopping.Load() || v.c.s.closed.Load()
	if len(v.rest) > 0 && v.send(now, nil) && v.over {
		v.wakeAt = now.Add(v.server.o.FlushTimeout)
	}
	switch {
	case v.over:
		v.linger(now)
		return false
	case !v.opened:
		v.open(now)
	case v.failed != nil:
		v.finish(now, v.failed)
	case v.unwanted.Load():
		v.finish(now, serve.ErrClosed)
	case t.State() == tcp.Closed && (t.Buffered() == 0 || stopping || len(v.rest) > 0 || v.held):
		// its output reaches nobody, or it waits for what may never happen
		v.finish(now, v.c.failure())
	case v.posted.Swap(false) || v.due(now) || v.held && !v.cut && stopping:
		v.wake(now)
	case len(v.rest) > 0 || v.held:
		return false
	case t.Buffered() > 0:
		v.input(now)
	case t.AtEnd() && !v.noInput:
		v.inputEnd(now)
	case v.c.s.closed.Load():
		v.finish(now, net.ErrClosed)
	case stopping:
		v.finish(now, serve.ErrStopped)
	default:
		return false
	}
	return true
}

// due says whether the session asked to be woken by now.
func (v *served) due(now tcp.Time) bool { return v.wakeAt != 0 && v.wakeAt <= now }

func (v *served) open(now tcp.Time) {
	v.opened = true
	err := v.call(func() error {
		v.session = v.server.service.Open(v)
		return nil
	})
	if v.session == nil || err != nil {
		v.finish(now, err)
	}
}

func (v *served) wake(now tcp.Time) {
	v.cut = v.server.stopping.Load()
	v.wakeAt, v.held = 0, false
	v.took(now, v.call(func() error { return v.session.Wake(time.Now(), &v.c.lane.writer) }))
}

// input gives the session the bytes that have come next.
func (v *served) input(now tcp.Time) {
	p := v.c.tcp.Peek(v.server.o.ReadSize)
	v.cut, v.given = false, len(p)
	err := v.give(p)
	v.c.tcp.Discard(now, v.given)
	v.given = 0
	v.took(now, err)
}

// inputEnd tells the session that its peer has finished, which ends it unless it is a HalfCloser.
func (v *served) inputEnd(now tcp.Time) {
	v.noInput = true
	half, ok := v.session.(serve.HalfCloser)
	if !ok {
		v.finish(now, io.EOF)
		return
	}
	v.took(now, v.call(func() error { return half.InputEnd(&v.c.lane.writer) }))
}

// give is call for Input, without what a closure costs.
func (v *served) give(p []byte) (err error) {
	v.c.mu.Unlock()
	v.running = true
	defer v.contain(&err)
	err = v.session.Input(p, &v.c.lane.writer)
	v.running = false
	return err
}

// call calls the session without the lock.
func (v *served) call(do func() error) (err error) {
	v.c.mu.Unlock()
	v.running = true
	defer v.contain(&err)
	err = do()
	v.running = false
	return err
}

var errGoexit = errors.New("the session called runtime.Goexit")

// contain takes the lock again after a call, and makes an error of a panic, or of a Goexit: it ends
// this connection and no other. After a Goexit the lane's goroutine ends; the one that follows it
// ends the session.
func (v *served) contain(err *error) {
	value := recover()
	died := v.running
	v.running = false
	if !died {
		v.c.mu.Lock()
		return
	}
	goexit := value == nil // panic(nil) is none: its value is a *runtime.PanicNilError
	if goexit {
		value = errGoexit
	}
	p := &serve.PanicError{Remote: v.RemoteAddr(), Value: value, Stack: debug.Stack()}
	if v.server.o.OnPanic != nil {
		v.server.o.OnPanic(*p)
	}
	v.c.lane.writer.Take() // it is nobody's
	*err = p
	v.c.mu.Lock()
	if goexit {
		v.c.tcp.Discard(v.c.s.now(), v.given)
		v.given, v.failed, v.turning = 0, p, false
		v.c.lane.post(v.c)
	}
}

// took does what a call has left with the writer.
func (v *served) took(now tcp.Time, err error) {
	out, wakeAt, hold := v.c.lane.writer.Take()
	if len(out) > 0 {
		v.send(now, out)
	}
	v.held = v.held || hold
	if !wakeAt.IsZero() {
		v.wakeAt = max(now.Add(time.Until(wakeAt)), 1)
	}
	if err != nil {
		v.finish(now, err)
	}
}

// finish ends the session. What it has written is still sent.
func (v *served) finish(now tcp.Time, err error) {
	v.over, v.wakeAt = true, now.Add(v.server.o.FlushTimeout)
	if v.session != nil {
		v.call(func() error { v.session.Close(err); return nil }) //nolint:errcheck // it ends in any case
	}
}

// discardMost is how many bytes of input are discarded behind the end of a session.
const discardMost = 16 << 20

// linger closes the connection once all of the output is in its buffer, or the peer has taken none
// of it for too long.
func (v *served) linger(now tcp.Time) {
	switch {
	case v.c.closed:
	case v.c.tcp.State() == tcp.Closed || v.c.s.closed.Load():
		v.leave(now)
	case v.truncated:
		v.abort(now)
	case len(v.rest) == 0 || v.unwanted.Load():
		v.discard(now)
	case v.due(now):
		v.abort(now)
	}
}

// discard sends the end behind the output, and throws away what the peer still sends, until it has
// finished too or a bound is reached.
func (v *served) discard(now tcp.Time) {
	t := v.c.tcp
	if !v.discarding {
		v.release()
		v.discarding, v.wakeAt = true, now.Add(v.server.o.LingerTimeout)
		t.CloseWrite(now)
	}
	n := t.Buffered()
	t.Discard(now, n)
	if v.discards -= n; t.PeerFinished() || v.discards <= 0 || v.due(now) {
		v.leave(now)
	}
}

// leave closes the connection of a session that has ended.
func (v *served) leave(now tcp.Time) {
	v.release()
	v.wakeAt = 0
	v.c.leave(now)
}

// abort resets the connection of a session that has ended.
func (v *served) abort(now tcp.Time) {
	v.release()
	v.wakeAt, v.c.closed = 0, true
	v.c.tcp.Abort(now)
}

// Post implements serve.Conn.
func (v *served) Post() {
	v.posted.Store(true)
	v.c.lane.post(v.c)
}

// Close implements serve.Conn.
func (v *served) Close() {
	v.unwanted.Store(true)
	v.c.lane.post(v.c)
}

// RemoteAddr implements serve.Conn.
func (v *served) RemoteAddr() net.Addr { return v.c.RemoteAddr() }
