//go:build amd64 || arm64

package program

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxRights is the largest control message with descriptors: SCM_MAX_FD of them, and others beside.
const maxRights = 2048

// cancelInterval is how often a wait for a Unix socket looks whether it is still wanted, in ms.
const cancelInterval = 100

// receiveDescriptors answers recvmsg and recvmmsg on a descriptor that is none of the stack's. It
// leaves the call to the kernel, unless an internet socket of a process outside would come with the
// message.
func (c *call) receiveDescriptors() answer {
	takes, flags, errno := c.takesControl()
	if errno != 0 || !takes {
		return passOn // the kernel gives the error
	}
	fd, err := fetch(c.tid, c.arg(0))
	if errno := errnoOf(err); errno == unix.EMFILE || errno == unix.ENFILE {
		return failed(errno) // it must be looked at first
	}
	if err != nil {
		return passOn
	}
	if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_UNIX {
		unix.Close(fd)
		return passOn
	}
	// inspect sees only the first message
	if c.number == unix.SYS_RECVMMSG || awaitsMany(fd, flags) {
		unix.Close(fd)
		return c.refuse(unix.EOPNOTSUPP, "a call for control messages that may receive several messages of a Unix socket (recvmmsg, MSG_WAITALL, SO_RCVLOWAT)")
	}
	if flags&unix.MSG_DONTWAIT != 0 || c.isNonblocking() {
		defer unix.Close(fd)
		return c.inspect(fd)
	}
	return c.wait(func(cancel <-chan struct{}) answer {
		defer unix.Close(fd)
		return c.inspectLater(fd, cancel)
	})
}

// awaitsMany reports whether a call on a Unix socket waits for bytes of more than one message.
func awaitsMany(fd, flags int) bool {
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind != unix.SOCK_STREAM {
		return false
	}
	least, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	return flags&unix.MSG_WAITALL != 0 || err != nil || least > 1
}

// takesControl reports whether the call has room for control messages.
func (c *call) takesControl() (yes bool, flags int, errno unix.Errno) {
	if c.number == unix.SYS_RECVMSG {
		h, errno := readStruct[unix.Msghdr](c, c.args[1])
		return h.Controllen > 0, c.arg(2), errno
	}
	for i := range c.count(2) {
		h, errno := readStruct[mmsghdr](c, c.args[1]+uint64(i)*uint64(unsafe.Sizeof(mmsghdr{})))
		if errno != 0 || h.Controllen > 0 {
			return true, c.arg(3), errno
		}
	}
	return false, c.arg(3), 0
}

// inspectLater is inspect for a call that waits for a message.
func (c *call) inspectLater(fd int, cancel <-chan struct{}) answer {
	for {
		a := c.inspect(fd)
		if a.errno != unix.EAGAIN {
			return a
		}
		unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, cancelInterval) //nolint:errcheck // inspect shows it
		select {
		case <-cancel:
			return isSent
		default:
		}
		if !c.s.listener.isValid(c.id) {
			return isSent
		}
	}
}

// inspect looks at the next message of a Unix socket. The kernel may receive one without internet
// sockets. One with some is taken away: the call fails.
func (c *call) inspect(fd int) answer {
	bad, err := receiveRights(fd, unix.MSG_PEEK)
	switch {
	case err == unix.EAGAIN:
		return failed(unix.EAGAIN)
	case err != nil || !bad:
		return passOn
	}
	receiveRights(fd, 0) //nolint:errcheck // it was there
	return c.refuse(unix.EPERM, "a socket of the kernel's network that another process has passed")
}

// receiveRights receives a message, and reports whether internet sockets came with it, or may have:
// descriptors that this process has no room for are cut off.
func receiveRights(fd, flags int) (bad bool, err error) {
	b, control := make([]byte, 1), make([]byte, maxRights)
	_, n, got, _, err := unix.Recvmsg(fd, b, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC|flags)
	if err != nil {
		return false, err
	}
	bad = got&unix.MSG_CTRUNC != 0
	all, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return false, err
	}
	for i := range all {
		if all[i].Header.Level != unix.SOL_SOCKET || all[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			return false, err
		}
		for _, passed := range fds {
			domain, err := unix.GetsockoptInt(passed, unix.SOL_SOCKET, unix.SO_DOMAIN)
			bad = bad || err == nil && !isLeftAlone(domain)
			unix.Close(passed)
		}
	}
	return bad, nil
}
