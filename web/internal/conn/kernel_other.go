//go:build !linux

package conn

import "syscall"

const seesArrivals = false

// acknowledged is not known here: a write's end is the only sign of progress.
func acknowledged(syscall.RawConn) (int64, bool, bool) { return 0, false, false }

// resetOnClose does nothing: a close goes on sending.
func resetOnClose(syscall.RawConn) {}

// sendMore sends the head that is held. It is not called where arrivals are not seen.
func (c *Conn) sendMore() error {
	_, err := c.take()
	return err
}
