package load

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

// reader takes what comes back, sees connections end, and checks and times echoes. Checking, it
// waits raw from a thread of its own, since the runtime's ways into and out of a blocking call cost
// more than the read; throwing away, it waits as any goroutine does, and costs nothing while
// nothing comes.
type reader struct {
	*stream
	epoll     int
	called    int // an event descriptor in epoll, written to by call
	conns     []receiving
	buffer    []byte
	events    [256]unix.EpollEvent
	latency   tally.Distribution
	inWindow  int64 // whole echoes of the window's messages
	discarded int64 // bytes
	fails     tally.Failures
}

// receiving is a connection as its reader sees it.
type receiving struct {
	next   moment // of the first message whose echo isn't whole
	offset int64  // bytes that came back
	bad    bool   // a wrong byte came: nothing after it is checked
	gone   bool
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
		unix.Close(epoll) //nolint:errcheck // the other error tells more
		return nil, fmt.Errorf("load: can't make an event descriptor: %w", err)
	}
	r := &reader{stream: s, epoll: epoll, called: called, conns: make([]receiving, len(s.fds)), buffer: make([]byte, span), latency: tally.NewDistribution()}
	for i, fd := range s.fds {
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(i)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(fd), &ev); err != nil {
			r.close()
			return nil, fmt.Errorf("load: can't wait for connection %d: %w", i, err)
		}
		if s.echo && i < s.senders {
			r.conns[i].next = s.schedule.first(i)
		}
	}
	return r, nil
}

// close is called when run has ended.
func (r *reader) close() {
	unix.Close(r.called) //nolint:errcheck // nothing is lost
	unix.Close(r.epoll)  //nolint:errcheck // nothing is lost
}

// call makes run look at stop and drain, which it does only when something arrives: every wait that
// it begins costs the runtime's watch over its threads some 50 wake-ups.
func (r *reader) call() {
	unix.Write(r.called, []byte{1, 0, 0, 0, 0, 0, 0, 0}) //nolint:errcheck // fails when it has been called 2^64 times
}

// run reads until stop is set, or, after the sender's end, every echo has come or the drain is
// over.
func (r *reader) run() {
	wait := r.wait
	if r.echo {
		runtime.LockOSThread()
		wait = r.waitRaw
	}
	for !r.stop.Load() {
		tick := -1
		if limit := r.drain.Load(); limit != tally.Unset {
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
	n, _ := unix.EpollWait(r.epoll, r.events[:], ms) //nolint:errcheck // interrupted: nothing is ready
	return n
}

// waitRaw waits without telling the runtime. The runtime then interrupts it with a signal whenever
// it wants this thread to pause, and needs a function with a stack check on the way: raw.PausePoint
// is that.
func (r *reader) waitRaw(ms int) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.epoll), uintptr(unsafe.Pointer(&r.events[0])), uintptr(len(r.events)), uintptr(ms), 0, 0)
	raw.PausePoint()
	if errno != 0 {
		return 0
	}
	return int(n)
}

// read takes what connection i has, once: epoll tells again if there is more.
func (r *reader) read(i int) {
	c := &r.conns[i]
	if c.gone {
		return
	}
	n, errno := raw.Read(r.fds[i], r.buffer)
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0 || n == 0:
		c.gone = true
		unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, int(r.fds[i]), nil) //nolint:errcheck // it was added
		r.lose(i, &r.fails, errno)
	case !r.echo || i >= r.senders || c.bad:
		r.discarded += int64(n)
	default:
		r.check(i, r.buffer[:n])
	}
}

// check compares what came back on connection i with what was sent, and times each message that
// ends in it.
func (r *reader) check(i int, got []byte) {
	c, now := &r.conns[i], r.clock.Now()
	want := r.payload.at(i, c.offset, len(got))
	if !bytes.Equal(got, want) {
		at := 0
		for got[at] == want[at] {
			at++
		}
		c.bad = true
		r.fails.Add("wrong byte", 1, "connection %d: byte %d of its echo is %q and should be %q", i, c.offset+int64(at), got[at], want[at])
		return
	}
	whole := c.offset / int64(r.size)
	c.offset += int64(len(got))
	for range c.offset/int64(r.size) - whole {
		if r.window.Holds(c.next.at) {
			r.inWindow++
			r.latency.Record(now - c.next.at)
		}
		c.next = r.schedule.after(i, c.next)
		r.echoed.Add(1)
	}
}

// complete says whether nothing more can come back. It is asked after the sender's end only.
func (r *reader) complete() bool {
	for i := range r.senders {
		c := &r.conns[i]
		if !c.gone && !c.bad && c.offset < r.totals[i].Load() {
			return false
		}
	}
	return true
}

// finish counts what is missing of the echoes, or too much.
func (r *reader) finish() {
	if !r.echo || r.drain.Load() == tally.Unset {
		return
	}
	for i := range r.senders {
		c, total := &r.conns[i], r.totals[i].Load()
		switch missing := total - c.offset; {
		case c.bad || missing == 0:
		case missing < 0:
			r.fails.Add("echo too long", 1, "connection %d: %d bytes came back and only %d were sent", i, c.offset, total)
		default:
			n := (missing + int64(r.size) - 1) / int64(r.size)
			r.fails.Add("echo missing", n, "connection %d: %d of %d bytes did not come back within %v of the last send", i, missing, total, drainTime)
		}
	}
}
