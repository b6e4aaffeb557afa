package serve

// Delivered reports how far the bytes that Send took have come. sent means that the kernel has
// taken all of them, acknowledged that the peer's kernel has acknowledged all of them. They are
// known on Linux, and of a connection that has a method Unacknowledged() int, which returns how
// many bytes the peer has not acknowledged; also below TLS. Elsewhere (in a pipe) acknowledged
// equals sent. For a connection that has ended with bytes queued, sent is false. Any goroutine may
// call it.
func Delivered(c Conn) (sent, acknowledged bool) {
	switch c := c.(type) {
	case interface {
		delivered() (sent, acknowledged bool)
	}:
		return c.delivered()
	case acknowledger: // a session that its stack runs
		all := c.Unacknowledged() == 0
		return all, all
	}
	return true, true
}

func (h *blockingSession) delivered() (sent, acknowledged bool) { return h.outbox.delivered(h) }

// delivered is Delivered for the output of the outbox.
func (b *outbox) delivered(t nonblockingWriter) (sent, acknowledged bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent = len(b.queue) == 0 && !b.ownerWriting
	return sent, sent && (b.released || !t.inFlight())
}

// acknowledger is a connection of a network stack in user space.
type acknowledger interface {
	Unacknowledged() int // bytes that were written and the peer has not acknowledged
}

// inFlight implements nonblockingWriter: it reports whether output is unacknowledged.
func (s *stream) inFlight() bool {
	return s.acks != nil && s.acks.Unacknowledged() > 0 || unacknowledged(s.socketConn)
}
