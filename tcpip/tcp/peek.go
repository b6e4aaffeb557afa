package tcp

// Peek gives the bytes that have come next, as many as lie in a row, and at most so many. They live
// until Discard, or another Read, takes them off: also when more comes meanwhile.
func (c *Conn) Peek(most int) []byte { return c.recvBuf.peek(most) }

// Discard takes off bytes that Peek gave.
func (c *Conn) Discard(now Time, n int) {
	c.setNow(now)
	c.consumed(n)
}

// taken takes off bytes that the application has.
func (c *Conn) consumed(n int) {
	c.recvBuf.discard(n, len(c.outOfOrder.blocks) > 0, c.cfg.Memory)
	c.tuneReceiveBuffer(n)
	if c.windowShut {
		c.reopenWindow()
	}
	c.updateWindow()
}
