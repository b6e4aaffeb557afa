package streamload

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// readiness waits, until an absolute time, for full connections to become writable. Its timer is a
// descriptor in the epoll set, because the timeout of epoll_wait has a resolution of milliseconds.
type readiness struct {
	epoll, timer int
	events       [128]unix.EpollEvent
	found        [128]int
}

func newReadiness() (*readiness, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("load: can't make an epoll descriptor: %w", err)
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, timer, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: -1})
	}
	if err != nil {
		unix.Close(epoll) //nolint:errcheck // the other error is returned
		return nil, fmt.Errorf("load: can't make a timer descriptor: %w", err)
	}
	return &readiness{epoll: epoll, timer: timer}, nil
}

func (r *readiness) close() {
	unix.Close(r.timer) //nolint:errcheck // no data to lose
	unix.Close(r.epoll) //nolint:errcheck // no data to lose
}

// watch adds fd to the wait, as connection i.
func (r *readiness) watch(fd int32, i int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(i)}
	if err := unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, int(fd), &ev); err != nil {
		return fmt.Errorf("load: cannot wait for connection %d to become writable: %w", i, err)
	}
	return nil
}

func (r *readiness) ignore(fd int32) {
	// cannot fail: it was added
	unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, int(fd), nil) //nolint:errcheck
}

// wait returns the numbers of writable connections, valid until the next call; none when the time
// has been reached.
func (r *readiness) wait(until int64) []int {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(until)}
	// cannot fail: a valid descriptor and time
	unix.TimerfdSettime(r.timer, unix.TFD_TIMER_ABSTIME, &spec, nil) //nolint:errcheck
	// interrupted: no events
	n, _ := unix.EpollWait(r.epoll, r.events[:], -1) //nolint:errcheck
	found := r.found[:0]
	for _, ev := range r.events[:max(n, 0)] {
		if ev.Fd >= 0 {
			found = append(found, int(ev.Fd))
		}
	}
	return found
}
