package load

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// monotonic reads CLOCK_MONOTONIC by a system call.
func monotonic() int64 { return readClock(unix.CLOCK_MONOTONIC) }

// processCPU is the CPU time that this process has used, in ns.
func processCPU() int64 { return readClock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func readClock(id int32) int64 {
	var ts unix.Timespec
	unix.ClockGettime(id, &ts) //nolint:errcheck // can't fail
	return ts.Nano()
}

// runQueueWait is how long the calling thread has been ready without running, in ns: the second number of
// schedstat. It is 0 where the kernel does not count it.
func runQueueWait() int64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var ran, waited int64
	fmt.Sscan(string(text), &ran, &waited) //nolint:errcheck // 0 then
	return waited
}

// bindCPUs binds every thread of this process; threads to come inherit it.
func bindCPUs(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("load: can't list this process's threads: %w", err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("load: can't use the CPUs %v: %w: give some of those that this process may use (%d), counted from 0",
				cpus, err, runtime.NumCPU())
		}
	}
	return nil
}

// lockPrecise locks the calling goroutine to its thread and asks for wake-ups to the nanosecond. The slack
// belongs to the thread, so the goroutine never unlocks it and the thread ends with the goroutine.
func lockPrecise() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) //nolint:errcheck // without it wake-ups are 50 us late, and the report shows it
}

// sleepUntil returns at the given time of CLOCK_MONOTONIC, or earlier by a signal. It waits raw, which costs
// a third less CPU a message than telling the runtime of each sleep (see reader.waitRaw for the conditions).
func sleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	pausePoint()
}

// writeNow writes without waiting; the descriptor doesn't block.
func writeNow(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// readNow reads without waiting; the descriptor doesn't block.
func readNow(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
