package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// directIO reads and writes a connection by system calls that the Go scheduler is not notified of.
// They do not block, because the descriptor does not; the network poller still waits. An ordinary
// system call of a process that was idle wakes the runtime's monitor thread (sysmon), which costs
// more than a small request does.
//
// While the monitor sleeps, nothing preempts a goroutine that computes for long. It sleeps until
// the next timer of the process, so a run has one every preemptEvery.
type directIO struct {
	raw     syscall.RawConn // nil: use the connection itself
	in, out directTransfer
}

// directTransfer is one direction of a directIO. One goroutine uses it at a time.
type directTransfer struct {
	busy    atomic.Bool
	buffer  []byte
	n       int
	errno   syscall.Errno
	attempt func(fd uintptr) bool // made once; returns false if the descriptor is not ready
}

// maxDirect is the number of bytes that one system call may copy, during which the scheduler cannot
// take the processor back.
const maxDirect = 64 << 10

func (d *directIO) init(raw syscall.RawConn) {
	d.raw, d.in.attempt, d.out.attempt = raw, d.in.read, d.out.write
}

// read reads into p. ok is false if it must be read in another way.
func (d *directIO) read(p []byte) (n int, err error, ok bool) {
	if d.raw == nil || len(p) == 0 || d.in.busy.Swap(true) {
		return 0, nil, false
	}
	p = p[:min(len(p), maxDirect)]
	n, err = d.in.run("read", d.raw.Read, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err, true
}

// write writes p. ok is false if it must be written in another way.
func (d *directIO) write(p []byte) (n int, err error, ok bool) {
	if d.raw == nil || len(p) == 0 || len(p) > maxDirect || d.out.busy.Swap(true) {
		return 0, nil, false
	}
	n, err = d.out.run("write", d.raw.Write, p)
	return n, err, true
}

// run transfers p. It waits by the network poller where it must.
func (t *directTransfer) run(call string, wait func(func(uintptr) bool) error, p []byte) (int, error) {
	t.buffer, t.n, t.errno = p, 0, 0
	err := wait(t.attempt)
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		failed.Op = call // it is "raw-read"
	}
	n, errno := t.n, t.errno
	t.buffer = nil
	t.busy.Store(false)
	if err == nil && errno != 0 {
		err = os.NewSyscallError(call, errno)
	}
	return n, err
}

func (t *directTransfer) read(fd uintptr) bool {
	for {
		n, errno := rawRead(int(fd), t.buffer)
		if errno == 0 {
			t.n = n
		}
		if t.errno = errno; errno != syscall.EINTR {
			return errno != syscall.EAGAIN
		}
	}
}

func (t *directTransfer) write(fd uintptr) bool {
	for t.n < len(t.buffer) {
		n, errno := rawWrite(int(fd), t.buffer[t.n:])
		switch t.errno = errno; errno {
		case 0:
			t.n += n
		case syscall.EINTR:
		default:
			return errno != syscall.EAGAIN
		}
	}
	return true
}
