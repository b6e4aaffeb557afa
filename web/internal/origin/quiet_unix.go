//go:build unix

package origin

import "syscall"

// isQuiet reports whether an idle connection may be used: its server has neither closed it nor sent
// bytes unasked.
func (c *Conn) isQuiet() bool {
	if c.raw == nil {
		return c.triesQuiet()
	}
	quiet := false
	// not Read, which fails behind the deadline of the last exchange
	err := c.raw.Control(func(fd uintptr) {
		var room [1]byte
		_, _, err := syscall.Recvfrom(int(fd), room[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = err == syscall.EAGAIN
	})
	return err == nil && quiet
}
