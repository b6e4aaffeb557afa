package serve

import (
	"context"
	"errors"
	"sync"
)

// ErrHandover is the cause (context.WithCancelCause) that makes a run with Options.OnMove hand its
// connections over instead of ending them.
var ErrHandover = errors.New("serve: handing over")

// Movable is a Session that can continue in another Run, of this process or of another.
type Movable interface {
	Session
	// Move is called once, between two other calls, when the run hands its connections over.
	// Service.Adopt will make a session of the returned state. Bytes written to out are sent before
	// any others. No method is called after a successful Move. If ok is false, the session stays,
	// and ends as by a stop.
	Move(out *Writer) (state []byte, ok bool)
}

// MovedConn is a connection that was handed over. Its holder owns the descriptor.
type MovedConn struct {
	// The socket. It is non-blocking, and closed on exec.
	FD     int
	Unsent []byte // output of the session that the kernel has not taken
	State  []byte // state of the session, from Movable.Move
}

// CanMove reports whether a connection could be handed over: it has a file descriptor, and its
// model supports handover.
func CanMove(c Conn) bool {
	m, ok := c.(interface{ canMove() bool })
	return ok && m.canMove()
}

// rejectMoving returns why connections cannot be handed over or adopted, or nil if they can or
// neither is requested.
func (w Way) rejectMoving(k serviceForm, o Options) error {
	switch {
	case o.OnMove == nil && len(o.Adopt) == 0:
		return nil
	case !onLinux:
		return errors.New("serve: connections are handed over on Linux only: leave out OnMove and Adopt")
	case Ways[w].MultiProcess:
		return errors.New("serve: " + w.String() + " has its connections in other processes and cannot hand them over: choose a model that runs in one process")
	case k.open == nil:
		return errors.New("serve: a handler's state is its stack, which cannot be handed over: write a Session")
	case len(o.Adopt) > 0 && k.adopt == nil:
		return errors.New("serve: the service adopts no connections: set Service.Adopt")
	}
	return nil
}

// handsOver reports whether a run that ctx has ended is to hand its connections over.
func handsOver(ctx context.Context, o Options) bool {
	return o.OnMove != nil && errors.Is(context.Cause(ctx), ErrHandover)
}

// adoptQueue holds the connections with which a run starts. Any number of owners take from it.
type adoptQueue struct {
	mu        sync.Mutex
	remaining []MovedConn
}

// next returns the next connection, or nil if there is none.
func (a *adoptQueue) next() *MovedConn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.remaining) == 0 {
		return nil
	}
	m := a.remaining[0]
	a.remaining = a.remaining[1:]
	return &m
}

// close closes the connections that no owner took.
func (a *adoptQueue) close() {
	for m := a.next(); m != nil; m = a.next() {
		m.Close()
	}
}

// opener returns the function that makes the session of a connection. m is nil for an accepted
// connection.
func (w serviceForm) opener(m *MovedConn) func(Conn) Session {
	if m == nil {
		return w.open
	}
	return func(c Conn) Session { return w.adopt(c, m.State) }
}

// unsent returns the output with which a connection starts.
func (m *MovedConn) unsent() []byte {
	if m == nil {
		return nil
	}
	return m.Unsent
}

// askToMove asks a session for its state.
func askToMove(s Session, o Options, n *counterShard, c Conn, w *Writer) (state []byte, ok bool) {
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
