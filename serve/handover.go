package serve

import (
	"context"
	"errors"
	"sync"
	"syscall"
)

// ErrHandOver is the cause (context.WithCancelCause) of a context's end by which a run that has
// Options.Moved hands its connections over instead of ending them.
var ErrHandOver = errors.New("serve: handing over")

// Movable is a Session that can go on elsewhere: in another Run, of this process or of another.
type Movable interface {
	Session
	// Move is called once, between two other calls, when the run hands its connections over. The
	// state is what Service.Adopt will make the session of; what is written to out is sent before
	// anything else is. Nothing is called after it. When it reports false the session stays, and is
	// ended as by a stop.
	Move(out *Writer) (state []byte, ok bool)
}

// Moved is a connection that was handed over. Whoever has it owns the descriptor.
type Moved struct {
	// of the socket; it does not block, and programs that are started do not inherit it
	FD     int
	Unsent []byte // written by the session, not yet taken by the kernel
	State  []byte // of the session
}

// CanMove says whether a connection could be handed over: it has a file descriptor, and runs by a
// way that hands over.
func CanMove(c Conn) bool {
	m, ok := c.(interface{ canMove() bool })
	return ok && m.canMove()
}

// Close gives the connection up.
func (m Moved) Close() error { return syscall.Close(m.FD) }

// refusesMoving says why connections cannot be handed over or adopted, nil when they can or nobody
// asks.
func (w Way) refusesMoving(k work, o Options) error {
	switch {
	case o.Moved == nil && len(o.Adopt) == 0:
		return nil
	case !onLinux:
		return errors.New("serve: connections are handed over on Linux only: leave Moved and Adopt out")
	case Ways[w].Splits:
		return errors.New("serve: " + w.String() + " has its connections in other processes and cannot hand them over: choose a way that does not split")
	case k.handle != nil:
		return errors.New("serve: a handler's state is its stack, which cannot be handed over: write a Session")
	case len(o.Adopt) > 0 && k.adopt == nil:
		return errors.New("serve: the service adopts no connections: set Service.Adopt")
	}
	return nil
}

// handsOver says whether a run that ctx has ended is to hand over.
func handsOver(ctx context.Context, o Options) bool {
	return o.Moved != nil && errors.Is(context.Cause(ctx), ErrHandOver)
}

// arrivals are the connections that a run begins with. Any number of owners take from them.
type arrivals struct {
	mu   sync.Mutex
	left []Moved
}

// next is one that nobody has yet, nil when there is none.
func (a *arrivals) next() *Moved {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.left) == 0 {
		return nil
	}
	m := a.left[0]
	a.left = a.left[1:]
	return &m
}

// close gives those up that nobody took.
func (a *arrivals) close() {
	for m := a.next(); m != nil; m = a.next() {
		m.Close()
	}
}

// opener is how the session of a connection is made. Moved is nil for one that was accepted.
func (w work) opener(m *Moved) func(Conn) Session {
	if m == nil {
		return w.open
	}
	return func(c Conn) Session { return w.adopt(c, m.State) }
}

// unsent is what waits for the peer from the begin.
func (m *Moved) unsent() []byte {
	if m == nil {
		return nil
	}
	return m.Unsent
}

// askToMove asks a session for its state.
func askToMove(s Session, o Options, n *lane, c Conn, w *Writer) (state []byte, ok bool) {
	m, movable := s.(Movable)
	if !movable {
		return nil, false
	}
	err := contain(o, n, c.RemoteAddr(), func() error {
		state, ok = m.Move(w)
		return nil
	})
	if ok = ok && err == nil; !ok {
		w.reset()
	}
	return state, ok
}
