//go:build !linux

package conn

// sendMore sends the head that is held: elsewhere the file behind it is a write of its own.
func (c *Conn) sendMore() error {
	_, err := c.take()
	return err
}
