package raw

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm wakes its thread at absolute times of CLOCK_MONOTONIC. It belongs to one thread.
//
// It has two timers. While the thread sleeps until one, the other is armed for the wake-up after
// that. A timer that becomes its processor's earliest must be programmed into the hardware at once,
// which under a hypervisor is an exit to it. A timer that is not the earliest costs almost nothing,
// and the interrupt that ends the sleep before it programs the hardware for it. This reduces the
// CPU of a sleep by about a quarter (docs/load.md has the figures).
type Alarm struct {
	Timers [2]int   // blocking descriptors, to be waited for by epoll
	armed  [2]int64 // ns; expiry of each timer, 0 if it is not armed
	turn   int      // index of the timer of the next sleep
}

// NewAlarm creates an Alarm. Its owner must close it.
func NewAlarm() (*Alarm, error) {
	a := &Alarm{Timers: [2]int{-1, -1}}
	for i := range a.Timers {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		if err != nil {
			a.Close()
			return nil, fmt.Errorf("load: can't make a timer descriptor: %w", err)
		}
		a.Timers[i] = fd
	}
	return a, nil
}

// Close releases the timers.
func (a *Alarm) Close() {
	for _, fd := range a.Timers {
		if fd >= 0 {
			unix.Close(fd) //nolint:errcheck // nothing is lost
		}
	}
}

// Arm arms the next timer for the given time, without waiting. A later time in then is the expected
// time of the next sleep. The caller waits for the timers, reports an expiry by Rang, and then arms
// again. It waits by a raw system call, which costs less CPU per message than notifying the runtime
// of each sleep (see PausePoint for the conditions).
func (a *Alarm) Arm(until, then int64) {
	a.arm(a.turn, until)
	if then > until {
		a.arm(1-a.turn, then)
	}
}

// Rang records that timer i has expired.
func (a *Alarm) Rang(i int) {
	a.armed[i] = 0
	a.turn = 1 - i
}

func (a *Alarm) arm(i int, at int64) {
	if a.armed[i] == at {
		return
	}
	a.armed[i] = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(a.Timers[i]), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}
