package link

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tapQueue is a queue of a device: a file descriptor.
type tapQueue struct {
	fd, wakeFD int
	plain      bool
	name       string
	caps       Caps
	buffers    [][]byte // used by the reader only
	closed     atomic.Bool
	watched    atomic.Int32 // the descriptor of Watch plus 1; 0: none
	// held for reading while a descriptor is used, for writing while they are closed
	useMu sync.RWMutex
	queueCounters
}

// tapBuffer is the size of the largest frame of a device with its header.
const tapBuffer = vnetHeader + frameOverhead + maxSuperframe + 1

// close wakes the reader and waits until no Read or Write runs. Only then does it close the
// descriptors, because the kernel may reuse their numbers at once.
func (q *tapQueue) close() {
	q.closed.Store(true)
	q.useMu.RLock()
	q.signal()
	q.useMu.RUnlock()
	q.useMu.Lock()
	defer q.useMu.Unlock()
	unix.Close(q.fd)
	unix.Close(q.wakeFD)
}

// Wake implements Queue.
func (q *tapQueue) Wake() {
	q.useMu.RLock()
	defer q.useMu.RUnlock()
	if !q.closed.Load() {
		q.signal()
	}
}

// signal makes wakeFD readable.
func (q *tapQueue) signal() {
	one := [8]byte{1}
	unix.Write(q.wakeFD, one[:]) //nolint:errcheck // a full counter is readable
}

// Read implements Queue. It waits in an ordinary system call, so that the runtime knows the thread
// is blocked and runs other goroutines at once.
func (q *tapQueue) Read(batch []Frame, wait time.Duration) (int, error) {
	q.useMu.RLock()
	defer q.useMu.RUnlock()
	var left *unix.Timespec // nil: no limit. The system call subtracts the time waited
	if wait >= 0 {
		t := unix.NsecToTimespec(int64(wait))
		left = &t
	}
	for ready := true; ready; {
		if q.closed.Load() {
			return 0, net.ErrClosed
		}
		n, err := q.readAll(batch)
		if n > 0 || err != nil {
			q.receive(batch[:n])
			return n, err
		}
		if ready, err = q.poll(left); err != nil {
			return 0, err
		}
	}
	if q.closed.Load() {
		return 0, net.ErrClosed
	}
	return 0, nil
}

// Watch implements Watcher. It reports whether the queue can wait for a descriptor: true.
func (q *tapQueue) Watch(fd int) bool {
	q.watched.Store(int32(fd) + 1)
	q.Wake()
	return true
}

// poll waits until a frame can be read. ready is false after the timeout, a Wake, or when the
// watched descriptor can be read.
func (q *tapQueue) poll(left *unix.Timespec) (ready bool, err error) {
	fds := [3]unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLIN}, {Fd: int32(q.wakeFD), Events: unix.POLLIN}, {Events: unix.POLLIN}}
	used := 2
	if w := q.watched.Load(); w > 0 {
		fds[2].Fd = w - 1
		used = 3
	}
	n, err := unix.Ppoll(fds[:used], left, nil)
	switch {
	case err == unix.EINTR:
		return true, nil
	case err != nil:
		return false, os.NewSyscallError("ppoll", err)
	case n == 0:
		return false, nil
	case fds[0].Revents != 0:
		return true, nil
	case fds[1].Revents == 0:
		return false, nil
	}
	var b [8]byte
	unix.Read(q.wakeFD, b[:]) //nolint:errcheck // only this goroutine reads it
	return false, nil
}

// readAll reads the frames that are there. It returns an error only if it has read no frame before.
func (q *tapQueue) readAll(batch []Frame) (n int, err error) {
	for n < len(batch) {
		if n == len(q.buffers) {
			q.buffers = append(q.buffers, make([]byte, tapBuffer))
		}
		b := q.buffers[n]
		length, err := unix.Read(q.fd, b)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN || err != nil && n > 0:
			return n, nil
		case err != nil:
			return 0, fmt.Errorf("link: reading %s: %w: the device is gone", q.name, err)
		case q.parse(b[:length], &batch[n]):
			n++
		default:
			q.drop(DropMalformed)
		}
	}
	return n, nil
}

func (q *tapQueue) parse(b []byte, f *Frame) bool {
	if !q.plain {
		return parseVnet(b, f, q.caps.Medium)
	}
	*f = Frame{Bytes: b}
	return len(b) >= q.caps.Medium.minFrame()
}

// Write implements Queue. It reports whether the frame was sent.
func (q *tapQueue) Write(p *Parts) bool {
	q.useMu.RLock()
	defer q.useMu.RUnlock()
	var errno unix.Errno
	switch {
	case q.closed.Load():
		errno = unix.EBADFD
	case !q.caps.accepts(p):
		errno = unix.EINVAL
	default:
		errno = q.write(p)
	}
	if errno != 0 {
		q.drop(dropFor(errno))
		return false
	}
	q.send(p.Len())
	return true
}

// write writes the header and the parts of a frame with one system call.
func (q *tapQueue) write(p *Parts) unix.Errno {
	var header [vnetHeader]byte
	var parts [4]unix.Iovec
	n := 0
	if !q.plain {
		putVnet(&header, p, q.caps.Medium)
		parts[n].Base = &header[0]
		parts[n].SetLen(vnetHeader)
		n++
	}
	for _, b := range [...][]byte{p.Head, p.Body[0], p.Body[1]} {
		if len(b) > 0 {
			parts[n].Base = &b[0]
			parts[n].SetLen(len(b))
			n++
		}
	}
	_, _, errno := unix.Syscall(unix.SYS_WRITEV, uintptr(q.fd), uintptr(unsafe.Pointer(&parts)), uintptr(n))
	return errno
}

// dropFor returns why the device did not accept a frame (Linux, drivers/net/tun.c).
func dropFor(errno unix.Errno) Drop {
	switch errno {
	case unix.EIO:
		return DropDown
	case unix.EINVAL:
		return DropRefused
	case unix.EBADFD:
		return DropClosed
	}
	return DropFull
}
