package oneloop

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/internal/raw"
)

// Poll waits for the connections of one thread and for the time. It belongs to that thread.
type Poll struct {
	epoll  int
	alarm  *raw.Alarm
	events [256]unix.EpollEvent
}

// NewPoll creates a Poll. Its owner must close it.
func NewPoll() (*Poll, error) {
	alarm, err := raw.NewAlarm()
	if err != nil {
		return nil, err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	for i, fd := range alarm.Timers { // with the numbers -1 and -2
		if err == nil {
			err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(-1 - i)})
		}
	}
	if err != nil {
		alarm.Close()
		return nil, fmt.Errorf("load: can't make an epoll descriptor: %w", err)
	}
	return &Poll{epoll: epoll, alarm: alarm}, nil
}

// Close releases the descriptors.
func (p *Poll) Close() {
	unix.Close(p.epoll) //nolint:errcheck // nothing is lost
	p.alarm.Close()
}

// Add makes Wait report, edge-triggered, when fd is readable, writable or closed, with the given
// number, which must not be negative.
func (p *Poll) Add(fd, number int) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Fd: int32(number),
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET})
}

// Wait calls each for every descriptor with a new event, as soon as there is one. It returns at the
// given time at the latest, and without waiting if that has passed. A later time in then is the
// expected time of the next wait: the alarm is armed only once per time, however many events occur
// before. The thread waits by raw system calls: see raw.PausePoint.
func (p *Poll) Wait(clock raw.Clock, until, then int64, each func(number int, events uint32)) {
	timeout := 0
	if clock.Now() < until {
		timeout = -1
		p.alarm.Arm(until, then)
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)),
		uintptr(timeout), 0, 0)
	raw.PausePoint()
	if errno != 0 {
		return
	}
	for _, ev := range p.events[:n] {
		if ev.Fd < 0 {
			p.alarm.Rang(int(-1 - ev.Fd))
			continue
		}
		each(int(ev.Fd), ev.Events)
	}
}
