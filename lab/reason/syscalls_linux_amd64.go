package reason

import "golang.org/x/sys/unix"

// oldSyscallNames has the calls that newer architectures do not have.
var oldSyscallNames = map[uint64]string{
	unix.SYS_EPOLL_WAIT: "epoll_wait", unix.SYS_ACCEPT: "accept", unix.SYS_POLL: "poll", unix.SYS_SELECT: "select", unix.SYS_FORK: "fork",
	unix.SYS_VFORK: "vfork", unix.SYS_PIPE: "pipe", unix.SYS_OPEN: "open", unix.SYS_STAT: "stat",
	unix.SYS_ALARM: "alarm", unix.SYS_PAUSE: "pause", unix.SYS_TIME: "time", unix.SYS_ARCH_PRCTL: "arch_prctl",
}
