package conn

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// seesArrivals reports whether progress within one write can be seen: a write then has no limit of
// size.
const seesArrivals = true

// acknowledged returns the number of bytes that the peer has acknowledged since the connection was
// opened. more reports whether bytes wait for the peer's window, or the network.
func acknowledged(raw syscall.RawConn) (n int64, more, ok bool) {
	raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n, more, ok = int64(info.Bytes_acked), info.Notsent_bytes > 0, true
		}
	})
	return n, more, ok
}

// resetOnClose makes a close discard the bytes that were not sent.
func resetOnClose(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}

// sendMore sends the head that is kept, and announces more to the kernel, so that the head and the
// start of the file leave in one segment.
func (c *Conn) sendMore() error {
	if len(c.head) == 0 {
		return nil
	}
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return err
	}
	rest, failed := c.head, error(nil)
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
	c.head = c.head[:0]
	if err == nil {
		err = failed
	}
	return err
}
