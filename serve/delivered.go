package serve

// Delivered says how far what Send took has come: sent, that the kernel has all of it, and taken,
// that the peer's kernel has acknowledged that. Where the latter is not known (behind TLS, in a
// pipe, not on Linux) taken is sent. A connection that has ended with bytes that wait has not sent
// them. Any goroutine may ask.
func Delivered(c Conn) (sent, taken bool) {
	d, ok := c.(interface{ delivered() (sent, taken bool) })
	if !ok {
		return true, true
	}
	return d.delivered()
}

func (h *hosted) delivered() (sent, taken bool) { return h.out.delivered(h) }

// delivered is Delivered for what went through the outbox.
func (b *outbox) delivered(t taker) (sent, taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent = len(b.queue) == 0 && !b.busy
	// the descriptor of a closed one may be somebody else's
	return sent, sent && (b.closed || !t.inFlight())
}
