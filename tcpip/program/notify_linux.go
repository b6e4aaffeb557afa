//go:build amd64 || arm64

package program

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif: a thread waits for the answer to its call.
type notification struct {
	id     uint64
	tid    uint32 // of the thread
	flags  uint32
	number int32 // of the system call
	arch   uint32
	ip     uint64
	args   [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// injection is struct seccomp_notif_addfd.
type injection struct {
	id       uint64
	flags    uint32
	source   uint32 // descriptor of this process
	fd       uint32
	newFlags uint32 // O_CLOEXEC
}

// listener receives the notifications of a filter.
type listener struct {
	file *os.File // its read deadline ends receive
	raw  syscall.RawConn
	fd   int
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return -1, errno
		}
	}
}

// newListener takes the descriptor over.
func newListener(fd int) (*listener, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // for the poller of Go's runtime
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "notifications")
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// wakes the supervisor on the same processor; kernels before 6.6 do not have it
	unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) //nolint:errcheck // it is slower without
	return &listener{file, raw, fd}, nil
}

// errNoProcess is the error of receive when no process has the filter any more.
var errNoProcess = errors.New("no process has the filter")

// receive returns the next notification, or errNoProcess at the end.
func (l *listener) receive() (n notification, err error) {
	waitErr := l.raw.Read(func(uintptr) bool {
		n, err = l.receiveNow()
		return err != unix.EAGAIN
	})
	if waitErr != nil { // by end
		return n, errNoProcess
	}
	return n, err
}

// receiveNow returns the next notification, or EAGAIN if no thread waits.
func (l *listener) receiveNow() (n notification, err error) {
	for {
		poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}} // the ioctl would wait
		if _, err := unix.Poll(poll, 0); err != nil {
			if err == unix.EINTR {
				continue
			}
			return n, os.NewSyscallError("poll", err)
		}
		switch {
		case poll[0].Revents&unix.POLLHUP != 0:
			return n, errNoProcess
		case poll[0].Revents&unix.POLLIN == 0:
			return n, unix.EAGAIN
		}
		n = notification{} // the kernel requires zeros
		_, err := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
		switch err {
		case nil:
			return n, nil
		case unix.ENOENT: // the thread has been interrupted or killed
		default:
			return n, os.NewSyscallError("SECCOMP_IOCTL_NOTIF_RECV", err)
		}
	}
}

// end has receive return.
func (l *listener) end() { l.file.SetReadDeadline(time.Unix(1, 0)) } //nolint:errcheck // closed: it has returned

// close makes further calls of programs fail with ENOSYS.
func (l *listener) close() { l.file.Close() }

// send answers a notification. It reports whether the thread still waited for it.
func (l *listener) send(r response) bool {
	_, err := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	return err == nil
}

// isValid reports whether the thread still waits: only then is its ID not that of another one.
func (l *listener) isValid(id uint64) bool {
	_, err := ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id))
	return err == nil
}

// inject gives the program a copy of a descriptor of this process, and answers the call with its
// number. No signal may interrupt it, such as those by which Go's runtime stops goroutines: the
// kernel (6.18) would answer the call with 0, and without a descriptor.
func (l *listener) inject(id uint64, fd int, cloexec bool) (number int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before); err != nil {
		return -1, os.NewSyscallError("sigprocmask", err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) //nolint:errcheck // it is the mask that was
	i := injection{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd)}
	if cloexec {
		i.newFlags = unix.O_CLOEXEC
	}
	return ioctl(l.fd, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&i))
}
