//go:build !linux

package conn

import "syscall"

const seesArrivals = false

// acknowledged is not known on this system: only the end of a write is a sign of progress.
func acknowledged(syscall.RawConn) (int64, bool, bool) { return 0, false, false }

// resetOnClose does nothing: the system sends the rest after a close.
func resetOnClose(syscall.RawConn) {}

// sendMore sends the head that is kept. It is not called where seesArrivals is false.
func (c *Conn) sendMore() error {
	_, err := c.sendHead()
	return err
}
