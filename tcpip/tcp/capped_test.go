package tcp

// capped is a little memory.
type capped struct {
	left int
	kept int // for what comes
}

func (c *capped) Get(size int) []byte {
	if size > c.left {
		return nil
	}
	c.left -= size
	return make([]byte, size)
}

func (c *capped) Put(b []byte) { c.left += len(b) }

func (c *capped) Share(sending bool) int {
	if sending {
		return max(0, c.left-c.kept)
	}
	return c.left
}
