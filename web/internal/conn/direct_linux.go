package conn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// direct reads from and writes to a TCP connection by system calls that the scheduler is not told
// of. They do not block, because the descriptor does not; waiting is the network poller's business,
// as ever. What it saves is the runtime's monitor thread: an ordinary system call wakes it whenever
// the process was idle just before, which a server under a moderate load is before each request,
// and that wake-up with the naps that follow it costs more than the request does.
//
// The price: the monitor, which takes the processor from goroutines that compute for long, may
// sleep on while a request that came out of idleness is answered. It sleeps until the next timer at
// most, which the watch sees to: see beat.
type direct struct {
	raw     syscall.RawConn // nil: there is none
	in, out transfer
}

// transfer is one direction. One goroutine has it at a time; others go the ordinary way meanwhile.
type transfer struct {
	busy atomic.Bool
	p    []byte
	n    int
	err  syscall.Errno
	try  func(fd uintptr) bool // made once; false: the descriptor is not ready
}

// beat is how often there must be a timer, for the monitor's sake.
const beat = 100 * time.Millisecond

// atOnce is how many bytes one call may copy, while which the scheduler can't have the processor
// back.
const atOnce = 64 << 10

func (d *direct) over(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	d.raw, d.in.try, d.out.try = raw, d.in.read, d.out.write
}

// Read is the connection's.
func (d *direct) Read(c *net.TCPConn, p []byte) (int, error) {
	if d.raw == nil || len(p) == 0 || d.in.busy.Swap(true) {
		return c.Read(p)
	}
	n, err := d.in.run("read", d.raw.Read, c, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write is the connection's.
func (d *direct) Write(c *net.TCPConn, p []byte) (int, error) {
	if d.raw == nil || len(p) > atOnce || d.out.busy.Swap(true) {
		return c.Write(p)
	}
	return d.out.run("write", d.raw.Write, c, p)
}

// run moves p, waiting by the poller where it must. Errors are those that the connection itself
// would give.
func (t *transfer) run(op string, wait func(func(uintptr) bool) error, c *net.TCPConn, p []byte) (int, error) {
	t.p, t.n, t.err = p, 0, 0
	err := wait(t.try)
	n, errno := t.n, t.err
	t.p = nil
	t.busy.Store(false)
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		failed.Op = op
	}
	if err == nil && errno != 0 {
		err = &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
	}
	return n, err
}

func (t *transfer) read(fd uintptr) bool {
	n, _, err := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.p))), uintptr(len(t.p)))
	for err == syscall.EINTR {
		n, _, err = syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.p))), uintptr(len(t.p)))
	}
	if err == 0 {
		t.n = int(n)
	}
	t.err = err
	return err != syscall.EAGAIN
}

func (t *transfer) write(fd uintptr) bool {
	for t.n < len(t.p) {
		rest := t.p[t.n:]
		n, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(rest))), uintptr(len(rest)), syscall.MSG_NOSIGNAL, 0, 0)
		switch t.err = err; err {
		case 0:
			t.n += int(n)
		case syscall.EINTR:
		default:
			return err != syscall.EAGAIN
		}
	}
	return true
}
