package netsim

import (
	"context"
	"fmt"
	"runtime"
	"strings"
)

// Helper marks the calling function as a test helper: messages and failures then have the file and
// line of its caller, as with testing.T.
func (w *World) Helper() {
	pcs := make([]uintptr, 1)
	runtime.Callers(2, pcs)
	f, _ := runtime.CallersFrames(pcs).Next()
	w.helpers.Store(f.Function, nil)
}

// Log notes a message. It is printed, and shown in the report, if the test fails.
func (w *World) Log(args ...any) { w.note(testEntry, "%s", line(args)) }

// Logf is Log with a format.
func (w *World) Logf(format string, args ...any) { w.note(testEntry, format, args...) }

// Error notes a failure; the world goes on.
func (w *World) Error(args ...any) { w.note(failedEntry, "%s", line(args)) }

// Errorf is Error with a format.
func (w *World) Errorf(format string, args ...any) { w.note(failedEntry, format, args...) }

// Fatal notes a failure and ends the calling goroutine. If that is the test's, the world ends.
func (w *World) Fatal(args ...any) {
	w.note(failedEntry, "%s", line(args))
	runtime.Goexit()
}

// Fatalf is Fatal with a format.
func (w *World) Fatalf(format string, args ...any) {
	w.note(failedEntry, format, args...)
	runtime.Goexit()
}

// Fail notes a failure without a message.
func (w *World) Fail() { w.note(failedEntry, "failed") }

// FailNow is Fatal without a message.
func (w *World) FailNow() {
	w.note(failedEntry, "failed")
	runtime.Goexit()
}

// Failed reports whether the world has failed.
func (w *World) Failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

// Skip ends the calling goroutine without a failure: if that is the test's, the world ends. The
// next seed still runs.
func (w *World) Skip(args ...any) {
	w.note(testEntry, "skipped: %s", line(args))
	w.SkipNow()
}

// Skipf is Skip with a format.
func (w *World) Skipf(format string, args ...any) {
	w.note(testEntry, "skipped: "+format, args...)
	w.SkipNow()
}

// SkipNow is Skip without a message.
func (w *World) SkipNow() {
	w.skipped.Store(true)
	runtime.Goexit()
}

// Skipped reports whether the world was skipped.
func (w *World) Skipped() bool { return w.skipped.Load() }

// Cleanup calls a function at the end of the world, before its hosts stop: the last one first.
func (w *World) Cleanup(call func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, call)
}

// Context returns a context that is cancelled at the end of the world, before the functions of
// Cleanup.
func (w *World) Context() context.Context { return w.ctx }

// line formats as fmt.Sprintln does, without the newline.
func line(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }
