package raw

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// However the guesses of the time after come out, no sleep that says its time has come ends early.
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
			at += random.Int64N(200_000) // sometimes in the past by now
		}
		guess = at + random.Int64N(300_000) - 50_000
		for !a.Sleep(at, guess) {
		}
		if now := Monotonic(); now < at {
			t.Fatalf("woke %d ns before its time", at-now)
		}
	}
}

// What a sleep of 125 us costs in CPU, as 64 connections at 125 messages a second need it: to an
// absolute time by clock_nanosleep, by an alarm that knows no time ahead, and by one that does.
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
		{"alarm", func(at int64) { a.Sleep(at, 0) }},
		{"ahead", func(at int64) { a.Sleep(at, at+gap) }},
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

// nanosleep waits raw, as an alarm does.
func nanosleep(at int64) {
	ts := unix.NsecToTimespec(at)
	syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	PausePoint()
}
