package nat

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// poller watches the sockets onward. Where the link allows it, the goroutine that reads the guest's
// packets waits for these sockets too, so that nothing passes from one goroutine to another.
// Otherwise a goroutine of its own waits for them.
type poller struct {
	epollFD int
	file    *os.File // owns epollFD while wait is used, and after it; otherwise nil
	start   func()   // called once, before the first socket is watched
	started sync.Once
	// used by poll
	events [64]unix.EpollEvent
	inbox  *inbox
	// of a stream on its way to a guest: used by the one goroutine that reads the link
	buffer [64 << 10]byte

	mu      sync.Mutex
	sockets []watched // by descriptor
	added   int32     // how many sockets were added, modulo 2^32
	closed  bool
}

// watched is a socket that is watched, or nil. Its number tells it from an earlier one with the
// same descriptor: events of that one may still be waiting to be handled.
type watched struct {
	socket socket
	number int32
}

// socket is what a poller watches.
type socket interface {
	// ready is called with what has become possible: EPOLLIN, EPOLLOUT and others. Only one call
	// runs at a time in all sockets of a poller, and it must not block.
	ready(events uint32)
	// abandon closes the socket, because the poller is closing.
	abandon()
}

func newPoller(start func()) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &poller{epollFD: fd, start: start, inbox: newInbox()}, nil
}

// add watches a descriptor. After an error it is not watched.
func (p *poller) add(fd int, s socket, events uint32) error {
	p.started.Do(p.start)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return os.ErrClosed
	}
	if fd >= len(p.sockets) {
		p.sockets = slices.Grow(p.sockets, fd+1-len(p.sockets))[:fd+1]
	}
	p.added++
	p.sockets[fd] = watched{s, p.added}
	if err := unix.EpollCtl(p.epollFD, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd), Pad: p.added}); err != nil {
		p.sockets[fd] = watched{}
		return os.NewSyscallError("epoll_ctl", err)
	}
	return nil
}

// remove forgets a descriptor and closes it.
func (p *poller) remove(fd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sockets[fd] = watched{}
	unix.Close(fd) //nolint:errcheck // it is
}

// poll calls the sockets that are ready, without waiting. One goroutine calls it.
func (p *poller) poll() {
	n, err := unix.EpollWait(p.epollFD, p.events[:], 0)
	if err != nil {
		return
	}
	for _, e := range p.events[:n] {
		if s := p.socketOf(&e); s != nil {
			s.ready(e.Events)
		}
	}
}

// socketOf returns the socket of an event; nil: it is not watched any more.
func (p *poller) socketOf(e *unix.EpollEvent) socket {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.sockets[e.Fd]; w.number == e.Pad {
		return w.socket
	}
	return nil
}

// wait calls poll whenever a socket is ready, until ctx ends. Only an error that ends it before is
// returned.
func (p *poller) wait(ctx context.Context) error {
	// the runtime waits for files that do not block
	if err := unix.SetNonblock(p.epollFD, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	p.file = os.NewFile(uintptr(p.epollFD), "epoll")
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { p.file.SetReadDeadline(time.Unix(1, 0)) })() //nolint:errcheck // raw.Read shows it
	for err == nil {
		err = raw.Read(func(uintptr) bool { return p.pending() })
		p.poll()
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pending reports whether a socket is ready.
func (p *poller) pending() bool {
	fds := [1]unix.PollFd{{Fd: int32(p.epollFD), Events: unix.POLLIN}}
	n, err := unix.Poll(fds[:], 0)
	return n > 0 || err != nil
}

// all returns the sockets that are watched.
func (p *poller) all() (all []socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.sockets {
		if w.socket != nil {
			all = append(all, w.socket)
		}
	}
	return all
}

// close abandons the sockets that are watched. Nothing calls poll any more.
func (p *poller) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for _, s := range p.all() {
		s.abandon()
	}
	if p.file != nil {
		p.file.Close() //nolint:errcheck // it is
		return
	}
	unix.Close(p.epollFD) //nolint:errcheck // it is
}
