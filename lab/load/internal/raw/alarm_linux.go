package raw

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm wakes its thread at absolute times of CLOCK_MONOTONIC. It belongs to one thread.
//
// It has two timers. While the thread sleeps to the one, the other is armed for the wake-up after
// that. A timer that becomes its processor's earliest must be written into the hardware at once,
// which under a hypervisor is an exit to it, paid by the thread; one that is not the earliest costs
// next to nothing, and the interrupt that ends the sleep before sets the hardware for it in
// passing. This takes about a quarter off the CPU of a sleep (docs/load.md has the figures).
type Alarm struct {
	Timers [2]int   // descriptors, which block; to be waited for by epoll if not by Sleep
	armed  [2]int64 // ns; for when each is armed, 0 when it isn't
	turn   int      // the timer of the next sleep
}

// NewAlarm makes one. Its owner closes it.
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

// Close ends it.
func (a *Alarm) Close() {
	for _, fd := range a.Timers {
		if fd >= 0 {
			unix.Close(fd) //nolint:errcheck // nothing is lost
		}
	}
}

// Sleep waits until the given time and says whether it has come: a signal ends a sleep early. If
// then is later, it is expected to be the time of the next sleep. The thread waits raw, which costs
// less CPU a message than telling the runtime of each sleep (see PausePoint for the conditions).
func (a *Alarm) Sleep(until, then int64) bool {
	a.Arm(until, then)
	var expired [8]byte
	_, errno := Read(int32(a.Timers[a.turn]), expired[:])
	PausePoint()
	if errno != 0 {
		return false
	}
	a.Rang(a.turn)
	return true
}

// Arm makes the next of the timers expire at the given time, without waiting for it; then is as for
// Sleep. Whoever waits for the timers by other means says so with Rang, and then arms again.
func (a *Alarm) Arm(until, then int64) {
	a.arm(a.turn, until)
	if then > until {
		a.arm(1-a.turn, then)
	}
}

// Rang notes that timer i has expired.
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
