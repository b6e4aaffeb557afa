package raw

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep waits until the given time and reports whether it was reached: a signal ends a sleep early.
func sleep(a *Alarm, until, then int64) bool {
	a.Arm(until, then)
	var expired [8]byte
	_, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(a.Timers[a.turn]), uintptr(unsafe.Pointer(&expired)), unsafe.Sizeof(expired))
	PausePoint()
	if errno != 0 {
		return false
	}
	a.Rang(a.turn)
	return true
}

// No sleep that reports its time as reached ends early, whether or not the predicted next time was
// right.
func TestAnAlarmNeverEndsBeforeItsTime(t *testing.T) {
	a, err := NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	random := rand.New(rand.NewPCG(1, 2))
	at := Monotonic()
	guess := at
	for range 300 {
		if random.IntN(3) > 0 {
			at = max(guess, at)
		} else {
			at += random.Int64N(200_000) // sometimes already in the past
		}
		guess = at + random.Int64N(300_000) - 50_000
		for !sleep(a, at, guess) {
		}
		if now := Monotonic(); now < at {
			t.Fatalf("woke %d ns early, want at its time or later", at-now)
		}
	}
}

// BenchmarkSleep measures the CPU of a sleep of 125 us until an absolute time, as 64 connections at
// 125 messages a second need it: by clock_nanosleep, and by an alarm without and with the time of
// the next sleep.
func BenchmarkSleep(b *testing.B) {
	a, err := NewAlarm()
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	const gap = 125_000
	for _, way := range []struct {
		name  string
		sleep func(at int64)
	}{
		{"nanosleep", nanosleep},
		{"alarm", func(at int64) { sleep(a, at, 0) }},
		{"ahead", func(at int64) { sleep(a, at, at+gap) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			at, before := Monotonic(), ProcessCPU()
			for b.Loop() {
				at += gap
				way.sleep(at)
			}
			b.ReportMetric(float64(ProcessCPU()-before)/float64(b.N), "cpu-ns/sleep")
		})
	}
}

// nanosleep waits by a raw system call, as an alarm does.
func nanosleep(at int64) {
	ts := unix.NsecToTimespec(at)
	syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	PausePoint()
}
