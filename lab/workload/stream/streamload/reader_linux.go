package streamload

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
)

// reader reads replies, detects closed connections, and checks echoes and measures their latency.
// When it checks echoes it waits by raw system calls on a locked thread, because the runtime's
// entry into and exit from a blocking call cost more than the read. When it discards replies it
// waits as any goroutine does, which costs nothing while no input arrives.
type reader struct {
	*stream
	epoll          int
	wakeFD         int // an event descriptor in epoll, written by wake
	conns          []receiving
	buffer         []byte
	events         [256]unix.EpollEvent
	latency        tally.Distribution
	echoesInWindow int64 // complete echoes of the window's messages
	discarded      int64 // bytes
	failures       tally.Failures
}

// receiving is the reader's state of a connection.
type receiving struct {
	next          schedule.Moment // first message whose echo is not complete
	receivedBytes int64           // bytes received
	mismatched    bool            // a wrong byte was received: later bytes are not checked
	closed        bool
}

func newReader(s *stream) (*reader, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("load: can't make an epoll descriptor: %w", err)
	}
	called, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, called, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: -1})
	}
	if err != nil {
		unix.Close(epoll) //nolint:errcheck // the other error is returned
		return nil, fmt.Errorf("load: can't make an event descriptor: %w", err)
	}
	r := &reader{stream: s, epoll: epoll, wakeFD: called, conns: make([]receiving, len(s.fds)), buffer: make([]byte, span), latency: tally.NewDistribution()}
	for i, fd := range s.fds {
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(i)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(fd), &ev); err != nil {
			r.close()
			return nil, fmt.Errorf("load: can't wait for connection %d: %w", i, err)
		}
		if s.echo && i < s.senders {
			r.conns[i].next = s.schedule.First(i)
		}
	}
	return r, nil
}

// close must be called after run has ended.
func (r *reader) close() {
	unix.Close(r.wakeFD) //nolint:errcheck // no data to lose
	unix.Close(r.epoll)  //nolint:errcheck // no data to lose
}

// wake makes run check stop and drain. Without it run checks them only when input arrives, because
// every wait costs the runtime's system monitor about 50 wake-ups.
func (r *reader) wake() {
	// fails only at 2^64-1 pending calls
	unix.Write(r.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0}) //nolint:errcheck
}

// run reads until stop is set. After the sender has ended it stops when every echo is complete or
// the drain time is over.
func (r *reader) run() {
	wait := r.wait
	if r.echo {
		runtime.LockOSThread()
		wait = r.waitRaw
	}
	for !r.stop.Load() {
		tick := -1
		if limit := r.drainUntil.Load(); limit != tally.Unset {
			if !r.echo || r.complete() || r.clock.Now() > limit {
				break
			}
			tick = 1
		}
		n := wait(tick)
		for _, ev := range r.events[:max(n, 0)] {
			if ev.Fd >= 0 {
				r.read(int(ev.Fd))
			}
		}
	}
	r.finish()
}

func (r *reader) wait(ms int) int {
	n, _ := unix.EpollWait(r.epoll, r.events[:], ms) //nolint:errcheck // interrupted: no events
	return n
}

// waitRaw waits without informing the runtime's scheduler. The runtime then interrupts it with a
// signal when it wants this thread to pause, and needs a function with a stack check on the way:
// raw.PausePoint.
func (r *reader) waitRaw(ms int) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.epoll), uintptr(unsafe.Pointer(&r.events[0])), uintptr(len(r.events)), uintptr(ms), 0, 0)
	raw.PausePoint()
	if errno != 0 {
		return 0
	}
	return int(n)
}

// read makes one read from connection i: epoll is level-triggered and reports further input.
func (r *reader) read(i int) {
	c := &r.conns[i]
	if c.closed {
		return
	}
	n, errno := raw.Read(r.fds[i], r.buffer)
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0 || n == 0:
		c.closed = true
		// cannot fail: it was added
		unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, int(r.fds[i]), nil) //nolint:errcheck
		r.lose(i, &r.failures, errno)
	case !r.echo || i >= r.senders || c.mismatched:
		r.discarded += int64(n)
	default:
		r.check(i, r.buffer[:n])
	}
}

// check compares the input of connection i with what was sent, and records the latency of each
// message that it completes.
func (r *reader) check(i int, got []byte) {
	c, now := &r.conns[i], r.clock.Now()
	want := r.payload.at(i, c.receivedBytes, len(got))
	if !bytes.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		c.mismatched = true
		r.failures.Add("wrong byte", 1, "connection %d: byte %d of its echo is %q, want %q", i, c.receivedBytes+int64(at), got[at], want[at])
		return
	}
	whole := c.receivedBytes / int64(r.size)
	c.receivedBytes += int64(len(got))
	for range c.receivedBytes/int64(r.size) - whole {
		if r.window.Holds(c.next.At) {
			r.echoesInWindow++
			r.latency.Record(now - c.next.At)
		}
		c.next = r.schedule.After(i, c.next)
		r.echoed.Add(1)
	}
}

// complete reports whether no further echo can arrive. It is called only after the sender has
// ended.
func (r *reader) complete() bool {
	for i := range r.senders {
		c := &r.conns[i]
		if !c.closed && !c.mismatched && c.receivedBytes < r.sentTotals[i].Load() {
			return false
		}
	}
	return true
}

// finish counts missing and surplus bytes of echoes.
func (r *reader) finish() {
	if !r.echo || r.drainUntil.Load() == tally.Unset {
		return
	}
	for i := range r.senders {
		c, total := &r.conns[i], r.sentTotals[i].Load()
		switch missing := total - c.receivedBytes; {
		case c.mismatched || missing == 0:
		case missing < 0:
			r.failures.Add("echo too long", 1, "connection %d: %d bytes were received and only %d were sent", i, c.receivedBytes, total)
		default:
			n := (missing + int64(r.size) - 1) / int64(r.size)
			r.failures.Add("echo missing", n, "connection %d: %d of %d bytes were not echoed within %v of the last send", i, missing, total, drainTime)
		}
	}
}
