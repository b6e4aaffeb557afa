package serve

import "net"

// Responder serves one connection of a Handler, turn by turn: an HTTP server, for example, that
// reads and answers requests until no further one has arrived. A connection that waits between two
// turns needs neither a goroutine nor a stack on an event loop.
//
// Its methods are never called concurrently, but not always by the same goroutine.
type Responder interface {
	// Respond is called for each turn: first when the connection was opened, and then as its result
	// says. It uses the connection as a handler does, and reads what may not have arrived yet by
	// [TryRead].
	Respond() Next
	// Close is called once, as the last call, also if Open or Respond has panicked. It must not
	// wait.
	Close()
}

// Next is what a Responder waits for after a turn.
type Next int

const (
	End  Next = iota // nothing: the connection ends
	Wait             // until TryRead would return something else than EAGAIN
	// nothing, but other connections have their turn before
	Again
)

// TryRead reads what has arrived on a connection whose Responder runs on an event loop. If nothing
// has, it returns [syscall.EAGAIN]. It fails with the errors of Read: at the end of the input, when
// the read deadline has passed, and when the service stops. In models without event loops, it waits
// as Read does. c is the net.Conn that Open has received, or its NetConn.
func TryRead(c net.Conn, p []byte) (int, error) {
	if t, ok := c.(interface{ TryRead([]byte) (int, error) }); ok {
		return t.TryRead(p)
	}
	return c.Read(p)
}

// respondTurns serves a connection by a responder on a connection whose reads wait.
func respondTurns(open func(net.Conn) Responder, c net.Conn) {
	r := open(c)
	if r == nil {
		return
	}
	defer r.Close()
	for r.Respond() != End {
	}
}
