package tcp

// Peek gives the bytes that have come next, as many as lie in a row, and at most so many. They live
// until Discard, or another Read, takes them off: also when more comes meanwhile.
func (c *Conn) Peek(most int) []byte { return c.in.next(most) }

// Discard takes off bytes that Peek gave.
func (c *Conn) Discard(now Time, n int) {
	c.at(now)
	c.taken(n)
}

// taken takes off bytes that the application has.
func (c *Conn) taken(n int) {
	c.in.discard(n, len(c.gaps.all) > 0, c.cfg.Memory)
	c.tuned(n)
	if c.shut {
		c.reopen()
	}
	c.offer()
}
