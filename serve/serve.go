package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Errors that a Session's Close, or a Handler's net.Conn, may be given. An end by the peer is
// io.EOF.
var (
	// ErrStopped says that the service is stopping and that all that had arrived was read.
	ErrStopped = errors.New("serve: stopping")
	// ErrClosed says that the connection was closed on this side.
	ErrClosed = errors.New("serve: connection closed")
	// ErrDeadline is what Run returns when Options.Drain passed before every connection had ended.
	ErrDeadline = errors.New("serve: stopped at the deadline, before every connection had ended")
)

// PanicError is what Close and Options.Panicked are given when a session or handler panicked. Its
// connection is closed and the others go on.
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
	// Input takes the next bytes, between 1 and Options.Read of them. They are dead once it
	// returns. An error ends the connection after what was written has been sent; io.EOF is the
	// error of a good end. A session that is to go on after the end of its input is a HalfCloser.
	Input(in []byte, out *Writer) error
	// Wake is called once the time given to Writer.WakeAt has come, and after Conn.Post, also while
	// output waits for a slow peer. It ends a hold. When the service stops, each hold that Input
	// has asked for is ended in this way ahead of its time; holding again is then honoured, within
	// Options.Drain. now is read once for all that is woken together. Errors are those of Input.
	Wake(now time.Time, out *Writer) error
	// Close is called once, last. io.EOF says that the peer finished, ErrStopped that the service
	// stops.
	Close(err error)
}

// Conn is a session's connection as others see it. Its methods may be called from any goroutine.
type Conn interface {
	// Send writes p, or queues what the kernel does not take at once. It never blocks. It reports
	// false, and takes nothing, when the connection is closed, or when some bytes wait already and
	// would be more than Options.Queue with p: what waits is bounded by that, or by one message if
	// that is longer.
	Send(p []byte) bool
	// Post has the owner call Wake. Posts before that call are one.
	Post()
	// Close ends the connection with ErrClosed. What is still queued may be lost.
	Close()
	// RemoteAddr is the peer's address.
	RemoteAddr() net.Addr
}

// Scope says what the sessions or handlers of a service share.
type Scope int

const (
	// InProcess services share memory between connections. No way that splits processes runs them.
	InProcess Scope = iota
	// PerConnection services share nothing that is written. Every way runs them.
	PerConnection
)

// Service is a service of sessions. Open is called by the goroutine that will own the session, for
// several connections at once; it must not block, and nil refuses the connection.
type Service struct {
	Open func(Conn) Session
	// Open for a connection of Options.Adopt; nil: there are none
	Adopt func(c Conn, state []byte) Session
	State Scope
}

// Handler is a service written straight down. Handle owns its connection and is done when it
// returns; the connection is then closed. While the service stops, Read gives what has arrived and
// then ErrStopped.
type Handler struct {
	Handle func(net.Conn)
	State  Scope
}

// Options are set before a run and not changed after. The zero value of a field gives its default.
type Options struct {
	Loops int // event loops; for Prefork, in each process. Default 1
	// Pool: workers, default 256. Prefork: processes, default one for each processor. Process:
	// children at once, default 1024
	Width int
	Read  int           // largest read of a session, in bytes. Default 4096
	Queue int           // bytes that Conn.Send may leave waiting on a connection. Default 256 KiB
	Drain time.Duration // how long a stop may take. Default 1.5 s

	// Linger is how long the peer of a session that has ended may take none of the output that
	// still waits for it, before the connection is closed without. Default 30 s.
	Linger time.Duration

	// LingerClose is how long a connection that this side has ended stays half-open after its
	// output has gone: its input is read and discarded until the peer closes too, because a close
	// with input unread would reset the connection and lose output that is on its way. Default 2 s.
	LingerClose time.Duration

	// Idle is how long a connection may pass no bytes in either direction before it is ended by
	// ErrIdle, also while its session holds or its handler sleeps. It may take up to a quarter
	// longer. Zero: for ever.
	Idle time.Duration

	// how long one call may hold up a loop before Stalled hears of it. Default 100 ms
	Watchdog time.Duration
	Stalled  func(Stall) // called from a goroutine of its own; nil: no watchdog
	// called by the goroutine that panicked; must not block; nil: only counted
	Panicked func(PanicError)
	Meter    *Meter // counts what passes; nil: not counted for anybody

	// Moved takes the connections of a run that is stopped by ErrHandOver. It is called by their
	// owners, at once by several, and must not block. Nil: nothing is handed over. Loop, Coroutine,
	// Goroutine and Pool, on Linux.
	Moved func(Moved)
	Adopt []Moved // connections that were handed over, which the run takes over and begins with

	// Child is the command line, program first, that starts this program as a child for Prefork and
	// Process. The child must call Run with the same way and with Inherited set. Its standard
	// streams are the parent's, descriptor 3 is the listener (Prefork) or the connection (Process),
	// and descriptor 4 is a pipe whose end of file tells it to stop.
	Child     []string
	Inherited bool // this process is such a child; the listener given to Run is nil
}

func (o Options) withDefaults() Options {
	setDefault(&o.Loops, 1)
	setDefault(&o.Read, 4096)
	setDefault(&o.Queue, 256<<10)
	setDefault(&o.Drain, 1500*time.Millisecond)
	setDefault(&o.Linger, 30*time.Second)
	setDefault(&o.LingerClose, 2*time.Second)
	setDefault(&o.Watchdog, 100*time.Millisecond)
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

// Run serves the connections of l in the given way until ctx ends, which is no error, or accepting
// fails. It takes l over and closes it.
func Run(ctx context.Context, way Way, l net.Listener, s Service, o Options) error {
	return run(ctx, way, l, work{open: s.Open, adopt: s.Adopt, state: s.State}, o)
}

// RunBlocking is Run for a service that is written straight down.
func RunBlocking(ctx context.Context, way Way, l net.Listener, h Handler, o Options) error {
	return run(ctx, way, l, work{handle: h.Handle, state: h.State}, o)
}

// work is what to do with a connection: exactly one of open and handle is set.
type work struct {
	open   func(Conn) Session
	handle func(net.Conn)
	state  Scope

	adopt    func(Conn, []byte) Session
	arrivals *arrivals
}

func run(ctx context.Context, way Way, l net.Listener, w work, o Options) error {
	o = o.withDefaults()
	w.arrivals = &arrivals{left: o.Adopt}
	defer w.arrivals.close()
	if err := way.refuses(l, w, o); err != nil {
		if l != nil {
			l.Close()
		}
		return err
	}
	return Ways[way].run(ctx, l, w, o)
}
