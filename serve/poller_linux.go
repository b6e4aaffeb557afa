package serve

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const onLinux = true

// epoll flags that package syscall lacks or has with the wrong sign.
const (
	epollEdge      = 1 << 31
	epollExclusive = 1 << 28
)

// poller waits for descriptors. wait is for its owner, wake for everybody.
type poller struct {
	epoll, event int // descriptors: the epoll instance, the eventfd that wakes it
	events       [256]syscall.EpollEvent
	woken        atomic.Bool // the eventfd is set and was not read yet
	// waits in a row that the runtime has ended and that found nothing, 10 ms or more each
	interrupted int
}

// idleFrom is how many such waits make a loop an idle one: about a second.
const idleFrom = 64

func newPoller() (*poller, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	event, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		syscall.Close(epoll)
		return nil, os.NewSyscallError("eventfd2", errno)
	}
	p := &poller{epoll: epoll, event: int(event)}
	if err := p.add(p.event, syscall.EPOLLIN); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() {
	syscall.Close(p.epoll)
	syscall.Close(p.event)
}

func (p *poller) add(fd int, events uint32) error {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_ADD, fd, &e))
}

func (p *poller) remove(fd int) {
	syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_DEL, fd, nil)
}

// wait fills p.events and returns how many there are: none when ms milliseconds have passed (never, below
// zero) or a signal came.
//
// This is the raw wait. The Go scheduler is not told that the thread blocks: it keeps its P, and nothing is
// woken or handed over before and after, which is most of what a message costs otherwise. The conditions:
//
//   - The runtime stops a thread, for the collector or for another goroutine's turn, by a signal, which ends
//     the wait with EINTR, and by marking the stack so that the next prologue with a stack check yields. So
//     this function must not be inlined, and it must be called again after EINTR. The runtime repeats the
//     signal until that has happened.
//
//   - GODEBUG=asyncpreemptoff=1 takes the signals away: refused by reserve.
//
//   - The P is not free for other goroutines: GOMAXPROCS must exceed the loops, seen to by reserve.
//
//   - The call that waits must be one that a handled signal interrupts even under SA_RESTART, which signal(7)
//     promises of epoll_pwait and not of read.
//
//   - It keeps the runtime's watchdog awake. So a loop that has had nothing to do for a second waits by an ordinary call, until something comes.
//
//go:noinline
func (p *poller) wait(ms int) int {
	if p.interrupted >= idleFrom {
		// EINTR is nothing, like a time that has passed
		n, _ := syscall.EpollWait(p.epoll, p.events[:], ms)
		if n > 0 {
			p.interrupted = 0
		}
		return max(n, 0)
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.epoll),
		uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), uintptr(ms), 0, 0)
	if errno != 0 {
		p.interrupted++
		return 0
	}
	if n > 0 {
		p.interrupted = 0
	}
	return int(n)
}

// wake ends the wait under way, or the next one. Any goroutine that holds the lock of the loop.
func (p *poller) wake() {
	if p.woken.Swap(true) {
		return
	}
	one := [8]byte{1}
	rawWrite(p.event, one[:])
}

// rearm is called by the owner when the eventfd was reported, before it looks for what it was woken
// for.
func (p *poller) rearm() {
	var b [8]byte
	rawRead(p.event, b[:])
	p.woken.Store(false)
}

// rawRead and rawWrite do not tell the scheduler either: for descriptors that never block.
func rawRead(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

func rawWrite(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// waiters counts the loops of the process.
var waiters struct {
	sync.Mutex
	n int
}

// reserve meets the conditions of the raw wait for n more loops, until release is called.
func reserve(n int) (release func(), err error) {
	if strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		return nil, errors.New("serve: GODEBUG=asyncpreemptoff=1 would let an event loop hang the collector: unset it, or choose " + Goroutine.String())
	}
	waiters.Lock()
	defer waiters.Unlock()
	waiters.n += n
	// Set even if it is enough: the runtime would lower a GOMAXPROCS of its own choice when the
	// processors allowed to the process become fewer.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), waiters.n+1))
	return func() {
		waiters.Lock()
		waiters.n -= n
		waiters.Unlock()
	}, nil
}
