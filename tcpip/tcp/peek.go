package tcp

// Peek returns the next received bytes that lie in one row, at most limit, without removing them.
// They are valid until Discard or Read removes them, even if more data arrives.
func (c *Conn) Peek(limit int) []byte { return c.recvBuf.peek(limit) }

// AppendRows is Peek for all received bytes: it appends a slice for each row to rows, and returns
// at most limit of them.
func (c *Conn) AppendRows(rows [][]byte, limit int) [][]byte {
	return c.recvBuf.appendRows(rows, limit)
}

// PeekCopy is Read without removing the bytes.
func (c *Conn) PeekCopy(_ Time, p []byte) int {
	n := min(len(p), c.recvBuf.length)
	c.recvBuf.get(p[:n])
	return n
}

// Discard removes n bytes that Peek returned.
func (c *Conn) Discard(now Time, n int) {
	c.setNow(now)
	c.consumed(n)
}

// consumed removes n bytes that the application has read, and updates the receive window.
func (c *Conn) consumed(n int) {
	c.recvBuf.discard(n, len(c.outOfOrder.blocks) > 0, c.memory())
	c.tuneReceiveBuffer(n)
	if c.windowShut {
		c.reopenWindow()
	}
	c.updateWindow()
}
