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

// epoll flags that package syscall lacks or declares with the wrong sign.
const (
	epollEdge      = 1 << 31
	epollExclusive = 1 << 28
)

// poller waits for descriptors. Only its owner calls wait; any goroutine may call wake.
type poller struct {
	epollFD, eventFD int // descriptors: the epoll instance, the eventfd that wakes it
	events           [256]syscall.EpollEvent
	wakePending      atomic.Bool // the eventfd is set and was not read yet
	// Waits in a row that the runtime's signal has ended without an event, 10 ms or more each.
	idleInterrupts int
}

// idleAfterInterrupts is how many such waits make a loop idle: about a second.
const idleAfterInterrupts = 64

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
	p := &poller{epollFD: epoll, eventFD: int(event)}
	if err := p.add(p.eventFD, syscall.EPOLLIN); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) close() {
	syscall.Close(p.epollFD)
	syscall.Close(p.eventFD)
}

func (p *poller) add(fd int, events uint32) error {
	e := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.epollFD, syscall.EPOLL_CTL_ADD, fd, &e))
}

func (p *poller) remove(fd int) {
	syscall.EpollCtl(p.epollFD, syscall.EPOLL_CTL_DEL, fd, nil)
}

// wait fills p.events and returns how many there are. It returns 0 when ms milliseconds have passed
// (negative: no limit) or a signal came.
//
// This is the raw wait. The Go scheduler is not notified that the thread blocks. The thread keeps
// its P, and nothing is woken or handed over before and after the wait, which is most of the cost
// of a message otherwise. The conditions:
//
//   - The runtime stops a thread, for the garbage collector or for another goroutine's turn, by a
//     signal and by marking the stack. The signal ends the wait with EINTR; the mark makes the next
//     function prologue with a stack check yield. So this function must not be inlined, and it must
//     be called again after EINTR. The runtime repeats the signal until the thread has stopped.
//   - GODEBUG=asyncpreemptoff=1 disables the signals: reserve rejects it.
//   - The P is not free for other goroutines: GOMAXPROCS must exceed the number of loops. reserve
//     raises it.
//   - A handled signal must interrupt the waiting call even under SA_RESTART. signal(7) promises
//     this for epoll_pwait and not for read.
//   - The wait keeps the runtime's monitor thread (sysmon) awake. So a loop that has been idle for
//     a second waits by an ordinary call, until an event comes.
//
//go:noinline
func (p *poller) wait(ms int) int {
	if p.idleInterrupts >= idleAfterInterrupts {
		// EINTR counts as a timeout
		n, _ := syscall.EpollWait(p.epollFD, p.events[:], ms)
		if n > 0 {
			p.idleInterrupts = 0
		}
		return max(n, 0)
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.epollFD),
		uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), uintptr(ms), 0, 0)
	if errno != 0 {
		p.idleInterrupts++
		return 0
	}
	if n > 0 {
		p.idleInterrupts = 0
	}
	return int(n)
}

// wake ends the wait under way, or the next one. Any goroutine may call it that holds the lock of
// the loop.
func (p *poller) wake() {
	if p.wakePending.Swap(true) {
		return
	}
	one := [8]byte{1}
	rawWrite(p.eventFD, one[:])
}

// rearm resets the eventfd. The owner calls it when the eventfd was reported, before it looks at
// the lists that others have filled.
func (p *poller) rearm() {
	var b [8]byte
	rawRead(p.eventFD, b[:])
	p.wakePending.Store(false)
}

// runningLoops counts the loops of the process.
var runningLoops struct {
	sync.Mutex
	n int
}

// reserve establishes the conditions of the raw wait for n more loops, until release is called.
func reserve(n int) (release func(), err error) {
	if strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		return nil, errors.New("serve: GODEBUG=asyncpreemptoff=1 would let an event loop block the garbage collector for ever: unset it, or choose " + Goroutine.String())
	}
	runningLoops.Lock()
	defer runningLoops.Unlock()
	runningLoops.n += n
	// Set even if it is high enough: the runtime lowers a GOMAXPROCS of its own choice when the
	// process may use fewer processors.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), runningLoops.n+1))
	return func() {
		runningLoops.Lock()
		runningLoops.n -= n
		runningLoops.Unlock()
	}, nil
}
