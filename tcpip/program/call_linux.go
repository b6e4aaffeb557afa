//go:build amd64 || arm64

package program

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// call is a system call of a thread that waits for its answer.
type call struct {
	notification
	s      *supervisor
	waited bool     // a goroutine of its own answers it
	undo   []func() // called if the thread does not get the answer, because of a signal
}

// answer is the result of a call.
type answer struct {
	value   int64
	errno   unix.Errno // 0: none
	outcome outcome
}

// outcome says who answers.
type outcome uint8

const (
	answered outcome = iota // the supervisor: by value and errno
	passed                  // the kernel executes the call
	sent                    // the answer was sent, or will be
)

func value(v int) answer         { return answer{value: int64(v)} }
func failed(e unix.Errno) answer { return answer{errno: e} }
func result(e unix.Errno) answer { return answer{errno: e} } // 0: success
func (c *call) arg(i int) int    { return int(int32(c.args[i])) }
func (c *call) finish(a answer)  { c.s.finish(c, a) }
func isLeftAlone(domain int) bool {
	return domain == unix.AF_UNIX || domain == unix.AF_NETLINK || domain == unix.AF_ALG
}

// passOn leaves the call to the kernel.
var passOn = answer{outcome: passed}

// isSent is the answer of a call that another goroutine answers, or whose thread has gone.
var isSent = answer{outcome: sent}

func (s *supervisor) finish(c *call, a answer) {
	switch a.outcome {
	case answered:
		if s.listener.send(response{id: c.id, value: a.value, errno: -int32(a.errno)}) {
			return
		}
		if len(c.undo) == 0 && !c.waited { // the next call of the thread comes later
			s.keepUnsent(c.notification, a)
		}
		for _, undo := range c.undo {
			undo()
		}
	case passed:
		s.listener.send(response{id: c.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
	}
}

// wait has a goroutine answer the call, by f. f returns isSent when cancel is closed.
func (c *call) wait(f func(cancel <-chan struct{}) answer) answer {
	cancel := make(chan struct{})
	c.waited = true
	c.s.mu.Lock()
	c.s.waiting[c.tid] = cancel
	c.s.mu.Unlock()
	c.s.tasks.Go(func() { // until it is answered, or the thread calls again
		a := f(cancel)
		c.s.mu.Lock()
		if c.s.waiting[c.tid] == cancel {
			delete(c.s.waiting, c.tid)
		}
		c.s.mu.Unlock()
		c.finish(a)
	})
	return isSent
}

// deadline returns a channel of the end of a timeout; nil: there is none.
func deadline(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// handlers answer the calls on sockets of the stack.
var handlers = map[int32]func(*call, socket) answer{
	unix.SYS_CONNECT:     (*call).connect,
	unix.SYS_BIND:        (*call).bind,
	unix.SYS_LISTEN:      func(c *call, k socket) answer { return k.listen(c.arg(1)) },
	unix.SYS_ACCEPT:      func(c *call, k socket) answer { return k.accept(c, 0) },
	unix.SYS_ACCEPT4:     func(c *call, k socket) answer { return k.accept(c, c.arg(3)) },
	unix.SYS_GETSOCKNAME: (*call).getsockname,
	unix.SYS_GETPEERNAME: (*call).getpeername,
	unix.SYS_GETSOCKOPT:  (*call).getsockopt,
	unix.SYS_SETSOCKOPT:  (*call).setsockopt,
	unix.SYS_SHUTDOWN:    func(c *call, k socket) answer { return k.shutdown(c, c.arg(1)) },
	unix.SYS_SENDTO:      (*call).sendto,
	unix.SYS_RECVFROM:    (*call).recvfrom,
	unix.SYS_SENDMSG:     (*call).sendmsg,
	unix.SYS_RECVMSG:     (*call).recvmsg,
	unix.SYS_SENDMMSG:    (*call).sendmmsg,
	unix.SYS_RECVMMSG:    (*call).recvmmsg,
}

// handle answers a call. Without waiting: the goroutine answers all calls.
func (c *call) handle() answer {
	if c.arch != nativeArch || firstForeignCall != 0 && uint32(c.number) >= firstForeignCall {
		return c.refuse(unix.ENOSYS, "a call of another ABI than the machine's (32-bit, or x32)")
	}
	switch c.number {
	case unix.SYS_SOCKET:
		return c.socket()
	case unix.SYS_SOCKETPAIR:
		return c.refuse(unix.EAFNOSUPPORT, "socketpair of other sockets than Unix ones")
	case unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER:
		return c.refuse(unix.ENOSYS, "io_uring: its calls cannot be stopped")
	case unix.SYS_PIDFD_GETFD:
		return c.refuse(unix.EPERM, "pidfd_getfd: it could fetch a socket of the kernel's network")
	}
	k, errno := c.s.socketOf(c.tid, c.arg(0))
	if k == nil {
		if errno == 0 && (c.number == unix.SYS_RECVMSG || c.number == unix.SYS_RECVMMSG) {
			return c.receiveDescriptors()
		}
		return passOn
	}
	if !c.s.listener.isValid(c.id) {
		return isSent
	}
	if c.sendsUrgent() {
		return c.refuse(unix.EOPNOTSUPP, "urgent data (MSG_OOB): the stack does not have it")
	}
	k.seenAt(c.tid, c.arg(0))
	return handlers[c.number](c, k)
}

// sendsUrgent reports whether the call sends urgent data.
func (c *call) sendsUrgent() bool {
	switch c.number {
	case unix.SYS_SENDTO, unix.SYS_SENDMMSG:
		return c.arg(3)&unix.MSG_OOB != 0
	case unix.SYS_SENDMSG:
		return c.arg(2)&unix.MSG_OOB != 0
	}
	return false
}

// connect implements connect(2).
func (c *call) connect(k socket) answer {
	a, errno := c.readAddr(c.args[1], c.args[2])
	switch {
	case errno != 0:
		return failed(errno)
	case a.family == unix.AF_UNSPEC:
		return k.disconnect()
	case !a.addr.IsValid() || a.family != unix.AF_INET && !k.isInet6():
		return failed(unix.EAFNOSUPPORT)
	case k.isInet6() && k.only6() && a.addr.Addr().Is4():
		return failed(unix.ENETUNREACH)
	}
	c.s.releaseClosed(a.addr.Port())
	return k.connect(c, toLoopback(a.addr))
}

// toLoopback returns an address that can be connected to: the unspecified one is this host.
func toLoopback(a netip.AddrPort) netip.AddrPort {
	switch a.Addr() {
	case netip.IPv4Unspecified():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	case netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port())
	}
	return a
}

// bind implements bind(2).
func (c *call) bind(k socket) answer {
	a, errno := c.readAddr(c.args[1], c.args[2])
	switch {
	case errno != 0:
		return failed(errno)
	case a.family == unix.AF_UNSPEC && !k.isInet6(): // Linux accepts it for 0.0.0.0
		a.addr = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	case !a.addr.IsValid() || a.family != unix.AF_INET && !k.isInet6():
		return failed(unix.EAFNOSUPPORT)
	case a.family == unix.AF_INET && k.isInet6():
		return failed(unix.EINVAL)
	}
	if !c.s.isLocal(a.addr.Addr()) {
		return failed(unix.EADDRNOTAVAIL)
	}
	c.s.releaseClosed(a.addr.Port())
	return result(k.bind(a.addr))
}

// isLocal reports whether sockets may be bound to an address: any of the stack's.
func (s *supervisor) isLocal(a netip.Addr) bool {
	if a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
		return true
	}
	for _, p := range s.stack.Addrs() {
		if p.Addr().WithZone("") == a.WithZone("") {
			return true
		}
	}
	return false
}

// getsockname implements getsockname(2).
func (c *call) getsockname(k socket) answer {
	return result(c.writeAddr(c.args[1], c.args[2], k.localAddr(), k.isInet6()))
}

// getpeername implements getpeername(2).
func (c *call) getpeername(k socket) answer {
	a, ok := k.remoteAddr()
	if !ok {
		return failed(unix.ENOTCONN)
	}
	return result(c.writeAddr(c.args[1], c.args[2], a, k.isInet6()))
}
