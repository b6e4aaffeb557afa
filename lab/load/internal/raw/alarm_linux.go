package load

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
)

// alarm wakes its thread at absolute times of CLOCK_MONOTONIC. It belongs to one thread.
//
// It has two timers. While the thread sleeps to the one, the other is armed for the wake-up after that. A
// timer that becomes its processor's earliest must be written into the hardware at once, which under a
// hypervisor is an exit to it, paid by the thread; one that is not the earliest costs next to nothing, and
// the interrupt that ends the sleep before sets the hardware for it in passing. This takes about a quarter
// off the CPU of a sleep (docs/load.md has the figures).
type alarm struct {
	timers [2]int
	armed  [2]int64 // ns; for when each is armed, 0 when it isn't
	turn   int      // the timer of the next sleep
}

func newAlarm() (*alarm, error) {
	a := &alarm{timers: [2]int{-1, -1}}
	for i := range a.timers {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		if err != nil {
			a.close()
			return nil, fmt.Errorf("load: can't make a timer descriptor: %w", err)
		}
		a.timers[i] = fd
	}
	return a, nil
}

func (a *alarm) close() {
	for _, fd := range a.timers {
		if fd >= 0 {
			unix.Close(fd) //nolint:errcheck // nothing is lost
		}
	}
}

// sleep waits until the given time and says whether it has come: a signal ends a sleep early. If then is
// later, it is expected to be the time of the next sleep. The thread waits raw, which costs less CPU a
// message than telling the runtime of each sleep (see reader.waitRaw for the conditions).
func (a *alarm) sleep(until, then int64) bool {
	a.arm(a.turn, until)
	if then > until {
		a.arm(1-a.turn, then)
	}
	var expired [8]byte
	_, errno := raw.Read(int32(a.timers[a.turn]), expired[:])
	raw.PausePoint()
	if errno != 0 {
		return false
	}
	a.armed[a.turn] = 0
	a.turn = 1 - a.turn
	return true
}

func (a *alarm) arm(i int, at int64) {
	if a.armed[i] == at {
		return
	}
	a.armed[i] = at
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(a.timers[i]), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}
