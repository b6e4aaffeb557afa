package reason

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// syscallName returns the name of a system call.
func syscallName(nr uint64) string {
	if name, ok := syscallNames[nr]; ok {
		return name
	}
	if name, ok := oldSyscallNames[nr]; ok {
		return name
	}
	return "syscall " + strconv.FormatUint(nr, 10)
}

// syscallNames has the calls that servers and their runtimes make.
var syscallNames = map[uint64]string{
	unix.SYS_READ: "read", unix.SYS_WRITE: "write", unix.SYS_READV: "readv", unix.SYS_WRITEV: "writev",
	unix.SYS_PREAD64: "pread64", unix.SYS_PWRITE64: "pwrite64", unix.SYS_SENDFILE: "sendfile",
	unix.SYS_RECVFROM: "recvfrom", unix.SYS_SENDTO: "sendto", unix.SYS_RECVMSG: "recvmsg", unix.SYS_SENDMSG: "sendmsg",
	unix.SYS_RECVMMSG: "recvmmsg", unix.SYS_SENDMMSG: "sendmmsg",
	unix.SYS_SPLICE: "splice", unix.SYS_TEE: "tee", unix.SYS_VMSPLICE: "vmsplice",
	unix.SYS_ACCEPT4: "accept4", unix.SYS_CONNECT: "connect", unix.SYS_SOCKET: "socket",
	unix.SYS_BIND: "bind", unix.SYS_LISTEN: "listen", unix.SYS_SHUTDOWN: "shutdown", unix.SYS_CLOSE: "close",
	unix.SYS_SETSOCKOPT: "setsockopt", unix.SYS_GETSOCKOPT: "getsockopt", unix.SYS_GETSOCKNAME: "getsockname",
	unix.SYS_GETPEERNAME: "getpeername", unix.SYS_FCNTL: "fcntl", unix.SYS_IOCTL: "ioctl", unix.SYS_DUP: "dup",
	unix.SYS_EPOLL_PWAIT: "epoll_pwait", unix.SYS_EPOLL_PWAIT2: "epoll_pwait2", unix.SYS_EPOLL_CTL: "epoll_ctl",
	unix.SYS_PPOLL: "ppoll", unix.SYS_PSELECT6: "pselect6", unix.SYS_EVENTFD2: "eventfd2", unix.SYS_PIPE2: "pipe2",
	unix.SYS_IO_URING_ENTER: "io_uring_enter", unix.SYS_IO_URING_SETUP: "io_uring_setup",
	unix.SYS_IO_URING_REGISTER: "io_uring_register",
	unix.SYS_TIMERFD_SETTIME:   "timerfd_settime", unix.SYS_TIMERFD_CREATE: "timerfd_create",
	unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_CLOCK_NANOSLEEP: "clock_nanosleep", unix.SYS_CLOCK_GETTIME: "clock_gettime",
	unix.SYS_GETTIMEOFDAY: "gettimeofday",
	unix.SYS_FUTEX:        "futex", unix.SYS_SCHED_YIELD: "sched_yield", unix.SYS_RESTART_SYSCALL: "restart_syscall",
	unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone3", unix.SYS_EXECVE: "execve", unix.SYS_WAIT4: "wait4",
	unix.SYS_WAITID: "waitid", unix.SYS_EXIT: "exit", unix.SYS_EXIT_GROUP: "exit_group", unix.SYS_KILL: "kill",
	unix.SYS_TGKILL: "tgkill", unix.SYS_RT_SIGRETURN: "rt_sigreturn", unix.SYS_RT_SIGPROCMASK: "rt_sigprocmask",
	unix.SYS_RT_SIGACTION: "rt_sigaction", unix.SYS_SIGALTSTACK: "sigaltstack", unix.SYS_GETPID: "getpid",
	unix.SYS_GETTID: "gettid", unix.SYS_GETRUSAGE: "getrusage", unix.SYS_GETRANDOM: "getrandom",
	unix.SYS_MMAP: "mmap", unix.SYS_MUNMAP: "munmap", unix.SYS_MADVISE: "madvise", unix.SYS_MPROTECT: "mprotect",
	unix.SYS_MREMAP: "mremap", unix.SYS_BRK: "brk", unix.SYS_MEMBARRIER: "membarrier",
	unix.SYS_OPENAT: "openat", unix.SYS_LSEEK: "lseek", unix.SYS_FSTAT: "fstat", unix.SYS_FLOCK: "flock",
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_SET_ROBUST_LIST: "set_robust_list",
	unix.SYS_RSEQ: "rseq", unix.SYS_PRCTL: "prctl", unix.SYS_SCHED_GETAFFINITY: "sched_getaffinity",
}
