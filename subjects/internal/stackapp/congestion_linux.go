package stackapp

import "syscall"

// tcpCongestion is TCP_CONGESTION of linux/tcp.h.
const tcpCongestion = 13

// cubic gives a socket the congestion control that the other stacks, and the peer, have: a
// namespace may have another. Where the kernel has none such, it stays as it is.
func cubic(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, tcpCongestion, "cubic") //nolint:errcheck // as said
	})
}
