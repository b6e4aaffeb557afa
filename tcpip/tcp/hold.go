package tcp

// Hold makes Output send no data, and no data again, until Resume: the link has no room for them.
// Acknowledgments and segments that open or end the connection are still sent. Emit may call it.
func (c *Conn) Hold() { c.held = true }

// Resume ends Hold.
func (c *Conn) Resume() { c.held, c.heldBack = false, false }

// HeldBack reports whether Output has held data back since Hold.
func (c *Conn) HeldBack() bool { return c.heldBack }

// holdBack reports whether data must wait for Resume.
func (c *Conn) holdBack() bool {
	c.heldBack = c.heldBack || c.held
	return c.held
}
