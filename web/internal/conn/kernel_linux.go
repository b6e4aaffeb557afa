package conn

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// seesArrivals says that progress within one write can be seen, so that it may be as long as it
// likes.
const seesArrivals = true

// acknowledged is how many bytes the peer has acknowledged since the connection began, and whether
// there are more that its window, or the network, did not let it be sent yet.
func acknowledged(raw syscall.RawConn) (n int64, more, ok bool) {
	raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n, more, ok = int64(info.Bytes_acked), info.Notsent_bytes > 0, true
		}
	})
	return n, more, ok
}

// resetOnClose makes a close discard what the peer has not been sent.
func resetOnClose(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}

// sendMore sends the head that is held and tells the kernel that more follows at once, so that it
// leaves in one segment with the beginning of the file behind it.
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
