package contract

import (
	"net"

	"golang.org/x/sys/unix"
)

// unacknowledged returns how many sent bytes the peer's kernel has not acknowledged (SIOCOUTQ,
// tcp(7)).
func unacknowledged(c *net.TCPConn) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	if outer := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); outer != nil {
		return 0, outer
	}
	return n, err
}
