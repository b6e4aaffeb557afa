package conn

import "golang.org/x/sys/unix"

// sendMore sends the head that is held and tells the kernel that more follows at once, so that it leaves in
// one segment with the beginning of the file behind it.
func (c *Conn) sendMore() error {
	if len(c.held) == 0 {
		return nil
	}
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return err
	}
	rest, failed := c.held, error(nil)
	err = raw.Write(func(fd uintptr) bool {
		for len(rest) > 0 {
			n, err := unix.SendmsgN(int(fd), rest, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			if err == unix.EAGAIN {
				return false
			}
			if err != nil && err != unix.EINTR {
				failed = err
				return true
			}
			rest = rest[max(n, 0):]
		}
		return true
	})
	c.held = c.held[:0]
	if err == nil {
		err = failed
	}
	return err
}
