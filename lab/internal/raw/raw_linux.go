package raw

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Monotonic reads CLOCK_MONOTONIC by a system call.
func Monotonic() int64 { return readClock(unix.CLOCK_MONOTONIC) }

// ProcessCPU returns the CPU time of this process in ns.
func ProcessCPU() int64 { return readClock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func readClock(id int32) int64 {
	var ts unix.Timespec
	unix.ClockGettime(id, &ts) //nolint:errcheck // can't fail
	return ts.Nano()
}

// RunQueueWait returns how long the calling thread has been runnable without running, in ns: the
// second number of schedstat. It is 0 if the kernel does not count it.
func RunQueueWait() int64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var ran, waited int64
	fmt.Sscan(string(text), &ran, &waited) //nolint:errcheck // 0 then
	return waited
}

// BindCPUs binds every thread of this process; new threads inherit it.
func BindCPUs(cpus []int) error {
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

// Send writes to a non-blocking socket. It costs less than write, which first passes the kernel's
// layer of files.
func Send(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// Receive reads from a non-blocking socket. It costs less than read, as Send does.
func Receive(fd int32, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n), errno
}
