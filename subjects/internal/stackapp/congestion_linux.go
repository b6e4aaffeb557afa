package stackapp

import "syscall"

// tcpCongestion is TCP_CONGESTION of linux/tcp.h.
const tcpCongestion = 13

// cubic sets the congestion control that the other stacks and the peer have, because a namespace
// may have another default. A kernel without CUBIC keeps its own.
func cubic(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, tcpCongestion, "cubic") //nolint:errcheck // as said
	})
}
