package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Errors that a Session's Close, or a Handler's net.Conn, may receive. The end of the peer's input
// is io.EOF.
var (
	// ErrStopped reports that the service is stopping and that all input that had arrived was read.
	ErrStopped = errors.New("serve: stopping")
	// ErrClosed reports that the connection was closed on this side.
	ErrClosed = errors.New("serve: connection closed")
	// ErrDeadline is the error of Run when Options.DrainTimeout passed before every connection had
	// ended.
	ErrDeadline = errors.New("serve: drain timeout passed before every connection had ended")
)

// PanicError is the error that Close and Options.OnPanic receive when a session or handler
// panicked. Its connection is closed; the other connections continue.
type PanicError struct {
	Remote net.Addr
	Value  any
	Stack  []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("serve: panic while serving %v: %v", e.Remote, e.Value)
}

// Session is the state machine of one connection. It has one owner at a time: its methods are never
// called concurrently, and none of them may block.
type Session interface {
	// Input receives the next bytes, between 1 and Options.ReadSize of them. The slice is valid
	// only until Input returns. An error ends the connection after the output has been sent; io.EOF
	// is the error of a normal end. A session that goes on after the end of its input is a
	// HalfCloser.
	Input(in []byte, out *Writer) error
	// Wake is called when the time set by Writer.WakeAt has come, and after Conn.Post, also while
	// output waits for a slow peer. It ends a pause of the input. When the service stops, each
	// pause that Input has requested is ended by an early Wake. Pausing again is then honoured,
	// within Options.DrainTimeout. now is read once for all sessions that are woken together.
	// Errors have the meaning of Input's.
	Wake(now time.Time, out *Writer) error
	// Close is called once, as the last call. io.EOF means that the peer has finished, ErrStopped
	// that the service stops.
	Close(err error)
}

// Conn is a session's connection for other goroutines. Its methods may be called from any
// goroutine.
type Conn interface {
	// Send writes p, or queues the bytes that the kernel does not take at once. It never blocks.
	// Send reports false, and takes nothing, if the connection is closed. It also reports false if
	// bytes are queued already and would exceed Options.SendQueue together with p. So the queue is
	// bounded by Options.SendQueue, or by one longer message.
	Send(p []byte) bool
	// Post requests a call of Wake from the session's owner. Several posts before that call are
	// one.
	Post()
	// Close ends the connection with ErrClosed. It does not wait for the peer: queued output that
	// the kernel does not take at once is lost.
	Close()
	// RemoteAddr is the peer's address.
	RemoteAddr() net.Addr
}

// Scope is the set of connections that share state in a service.
type Scope int

const (
	// InProcess services share memory between connections. Multi-process models reject them.
	InProcess Scope = iota
	// PerConnection services share no mutable state. Every model runs them.
	PerConnection
)

// Service is a service of sessions. The goroutine that will own the session calls Open, for several
// connections at once. Open must not block; a nil session refuses the connection.
type Service struct {
	Open func(Conn) Session
	// Adopt opens a session for a connection of Options.Adopt, with the state that Movable.Move
	// returned. Nil: the service adopts none.
	Adopt func(c Conn, state []byte) Session
	State Scope
}

// Handler is a service in blocking style. Handle owns its connection; the connection is closed when
// Handle returns. While the service stops, Read returns the bytes that have arrived and then
// ErrStopped. Close and the deadlines are for any goroutine. On an event loop, Read and Write are
// for the handler, unless it has left the loop. The net.Conn has a method NetConn, whose result is
// for reads that a stop does not end, such as those of a request that has begun.
//
// Open is for handlers whose connections are often idle. They serve a connection in turns: see
// [Responder]. An event loop calls each turn, and continues by another goroutine if the turn would
// wait. The loop or coroutine of the connection calls Open; nil refuses the connection.
type Handler struct {
	Handle func(net.Conn)
	Open   func(net.Conn) Responder // instead of Handle
	State  Scope
}

// Options are set before a run and not changed afterwards. The zero value of a field means its
// default.
type Options struct {
	Loops int // event loops; for Prefork, in each process. Default 1
	// Workers bounds what runs at once. Pool: goroutines, default 256. Prefork: processes, default
	// one for each processor. Process: child processes, default 1024.
	Workers      int
	ReadSize     int           // largest read of a session, in bytes. Default 4096
	SendQueue    int           // bytes that Conn.Send may queue on a connection. Default 256 KiB
	DrainTimeout time.Duration // how long a graceful stop may take. Default 1.5 s

	// FlushTimeout is how long the peer of an ended session may take none of the output that is
	// left, before the connection is reset. A peer that takes some has in all that time and one
	// second more for each 1,024 bytes. Default 30 s.
	FlushTimeout time.Duration

	// LingerTimeout bounds the lingering close of a connection that this side has ended. The
	// connection stays half-open: its input is discarded until the peer closes. A close with unread
	// input would reset the connection and lose output that is in flight. Default 2 s.
	LingerTimeout time.Duration

	// IdleTimeout is how long a connection may transfer no bytes in either direction before it ends
	// with ErrIdle. It counts also while the input is paused or the handler sleeps. The end may
	// come up to a quarter later. Zero: no limit.
	IdleTimeout time.Duration

	// StallThreshold is how long one call may block an event loop before OnStall is called. Default
	// 100 ms.
	StallThreshold time.Duration
	OnStall        func(Stall) // called from a goroutine of its own; nil: no watchdog
	// OnPanic is called by the goroutine that panicked and must not block. Nil: panics are only
	// counted.
	OnPanic func(PanicError)
	Meter   *Meter // counters of the run; nil: the run keeps private ones

	// OnMove receives the connections of a run that is stopped by ErrHandover. Their owners call
	// it, several at once; it must not block. Nil: nothing is handed over. It works for Loop,
	// Coroutine, Goroutine and Pool, on Linux.
	OnMove func(MovedConn)
	Adopt  []MovedConn // connections of an earlier run with which this run starts

	// ChildCommand is the command line, program first, that starts this program as a child for
	// Prefork and Process. The child must call Run with the same model and with IsChild set. Its
	// standard streams are the parent's. Descriptor 3 is the listener (Prefork) or the connection
	// (Process). Descriptor 4 is a pipe whose end of file stops the child.
	ChildCommand []string
	// ChildFiles are further files that children inherit: see [InheritedFile]. The caller closes
	// them after the run.
	ChildFiles []*os.File
	// ChildSignals are sent to all children as they come, such as a request to reload. A child that
	// has just been started may not handle them yet, so choose a signal that is ignored by default.
	// Nil: none.
	ChildSignals <-chan os.Signal
	// AbortStop, when it is closed, cuts the stop of children short: they get SIGTERM and SIGINT,
	// and are killed half a second later. Nil: they have the DrainTimeout.
	AbortStop <-chan struct{}
	IsChild   bool // this process is such a child; the listener given to Run is nil
	// OnStop is called, in a goroutine of its own, when the parent stops this child, or when the
	// context of the child's Run ends. Nil: it is not called.
	OnStop func()
}

func (o Options) withDefaults() Options {
	setDefault(&o.Loops, 1)
	setDefault(&o.ReadSize, 4096)
	setDefault(&o.SendQueue, 256<<10)
	setDefault(&o.DrainTimeout, 1500*time.Millisecond)
	setDefault(&o.FlushTimeout, 30*time.Second)
	setDefault(&o.LingerTimeout, 2*time.Second)
	setDefault(&o.StallThreshold, 100*time.Millisecond)
	if o.Meter == nil {
		o.Meter = new(Meter)
	}
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Run serves the connections of l by the given concurrency model until ctx ends, which is no error,
// or accepting fails. Run owns l and closes it.
func Run(ctx context.Context, way Way, l net.Listener, s Service, o Options) error {
	return run(ctx, way, l, serviceForm{open: s.Open, adopt: s.Adopt, state: s.State}, o)
}

// RunBlocking is Run for a service of handlers.
func RunBlocking(ctx context.Context, way Way, l net.Listener, h Handler, o Options) error {
	return run(ctx, way, l, serviceForm{handle: h.Handle, respond: h.Open, state: h.State}, o)
}

// serviceForm is a service in one of its forms: exactly one of open, handle and respond is set.
type serviceForm struct {
	open    func(Conn) Session
	handle  func(net.Conn)
	respond func(net.Conn) Responder
	state   Scope

	adopt     func(Conn, []byte) Session
	adoptions *adoptQueue
}

func run(ctx context.Context, way Way, l net.Listener, w serviceForm, o Options) error {
	o = o.withDefaults()
	w.adoptions = &adoptQueue{remaining: o.Adopt}
	defer w.adoptions.close()
	if err := way.reject(l, w, o); err != nil {
		if l != nil {
			l.Close()
		}
		return err
	}
	return way.run(ctx, l, w, o)
}
