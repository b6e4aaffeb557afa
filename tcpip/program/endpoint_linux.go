//go:build amd64 || arm64

package program

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endpoint is the supervisor's end of a pair of Unix sockets; the program has the other one. Any
// goroutine may call its methods, but one at a time those that wait for input.
type endpoint struct {
	file *os.File
	raw  syscall.RawConn
}

// newPair makes a pair of a kind, and returns the program's end with its inode.
func newPair(kind, flags int) (ours *endpoint, theirs int, inode uint64, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, -1, 0, err
	}
	file := os.NewFile(uintptr(fds[0]), "socket")
	theirs = fds[1]
	var stat unix.Stat_t
	if err = unix.Fstat(theirs, &stat); err == nil && flags&unix.SOCK_NONBLOCK == 0 {
		err = unix.SetNonblock(theirs, false)
	}
	raw, rawErr := file.SyscallConn()
	if err == nil {
		err = rawErr
	}
	if err != nil {
		file.Close()
		unix.Close(theirs)
		return nil, -1, 0, err
	}
	return &endpoint{file, raw}, theirs, stat.Ino, nil
}

// waitHangup waits until both directions have ended, as when the program has closed its end.
func (e *endpoint) waitHangup() error {
	return e.raw.Read(func(fd uintptr) bool { return hasHungUp(int(fd)) })
}

// hasHungUp reports whether both directions have ended.
func (e *endpoint) hasHungUp() (yes bool) {
	err := e.raw.Control(func(fd uintptr) { yes = hasHungUp(int(fd)) })
	return yes || err != nil
}

func hasHungUp(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLHUP != 0
}

// interrupt has a wait for input return os.ErrDeadlineExceeded, until resume.
func (e *endpoint) interrupt() { e.file.SetReadDeadline(time.Unix(1, 0)) } //nolint:errcheck // closed: it has returned

func (e *endpoint) resume() { e.file.SetReadDeadline(time.Time{}) } //nolint:errcheck // the wait shows it

// unread returns how many bytes of the program have not been read.
func (e *endpoint) unread() (n int) {
	e.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) }) //nolint:errcheck // closed: 0
	return n
}

// unsent returns how much memory, in bytes, messages take that the program has not received: more
// than they are long.
func (e *endpoint) unsent() (n int) {
	e.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }) //nolint:errcheck // closed: 0
	return n
}

// discard reads bytes of the program without waiting.
func (e *endpoint) discard(n int) {
	e.raw.Control(func(fd uintptr) { //nolint:errcheck // closed: nothing is left
		b := relayBuffers.Get().(*[64 << 10]byte) // not on the stack, which would grow
		defer relayBuffers.Put(b)
		for n > 0 {
			read, err := unix.Read(int(fd), b[:min(n, len(b))])
			if err == unix.EINTR {
				continue
			}
			if err != nil || read <= 0 {
				return
			}
			n -= read
		}
	})
}

// shutdownWrite has the program read the end of the stream.
func (e *endpoint) shutdownWrite() {
	e.raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) }) //nolint:errcheck // closed: it has
}

func (e *endpoint) close() { e.file.Close() }

// smallSendBuffer has the kernel use its smallest send buffer. normalSendBuffer, in bytes, is half
// of what the kernel then allows, overhead included.
const (
	smallSendBuffer  = 1
	normalSendBuffer = 106496
)

// filler is what fill writes.
var filler = make([]byte, 4096)

// fill fills the program's send buffer, so that its end is not writable until the supervisor reads
// what it returns the length of.
func fill(theirs int) (n int, err error) {
	if err := unix.SetsockoptInt(theirs, unix.SOL_SOCKET, unix.SO_SNDBUF, smallSendBuffer); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	for {
		written, err := unix.SendmsgN(theirs, filler, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err == unix.EAGAIN {
			return n, nil
		}
		if err != nil {
			return n, os.NewSyscallError("sendmsg", err)
		}
		n += written
	}
}
