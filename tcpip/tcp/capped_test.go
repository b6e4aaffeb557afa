package tcp

// limitedMemory is a Memory with little left.
type limitedMemory struct {
	left     int
	reserved int // reserved for received data
}

func (c *limitedMemory) Get(size int) []byte {
	if size > c.left {
		return nil
	}
	c.left -= size
	return make([]byte, size)
}

func (c *limitedMemory) Put(b []byte) { c.left += len(b) }

func (c *limitedMemory) Share(sending bool) int {
	if sending {
		return max(0, c.left-c.reserved)
	}
	return c.left
}
