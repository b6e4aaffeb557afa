package netsim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/tcpip/fabric"
)

// World is one run of a test: a network with hosts, in virtual time. It is also the testing.TB of
// the run, for assertions and for packages that help with them; a failure of it is a failure of the
// test. Any goroutine of the world may call its methods.
type World struct {
	testing.TB // of the bubble; failures, logs and clean-up are the world's own
	seed       uint64
	random     *rand.Rand
	began      time.Time
	ctx        context.Context
	net        *fabric.Network
	trace      *trace
	took       time.Duration // how long the test ran; set when it has returned
	skip       map[int]bool  // numbers of the faults that are left out
	givenUp    bool          // it could not end: its goroutines are left; set when it is over

	abandoned chan struct{} // closed when the world cannot end; made outside the bubble
	// never closed; made outside the bubble, where waiting for it stops the time
	never chan struct{}

	skipped atomic.Bool
	helpers sync.Map     // names of the functions that have called Helper
	bubble  atomic.Int64 // number of its bubble; 0: not yet known

	mu        sync.Mutex
	dualStack bool
	hosts     []*machine
	names     map[string]*machine
	switches  int // that Join has added
	cleanups  []func()
	limit     *time.Timer
	notes     []entry
	failures  []entry
	// why a failed world is not run again; "": it is
	unrepeated string
	faults     []fault
	ended      bool
}

// entry is a line of the world's log.
type entry struct {
	At    time.Duration // since the start of the world
	Text  string
	Where string // file and line
	Kind  entryKind
	host  string // of a fault of one host: its name
	state hostState
}

// head returns the first line of the text: stacks may follow.
func (n entry) head() string {
	line, _, _ := strings.Cut(n.Text, "\n")
	return line
}

// hostState is what a fault makes of a host.
type hostState uint8

const (
	unchangedHost hostState = iota
	runningHost
	downHost
	pausedHost
)

// entryKind says what an entry is.
type entryKind uint8

// The kinds of entries.
const (
	testEntry   entryKind = iota // a message of the test: Log, Logf
	faultEntry                   // a fault: a partition, a crash, a changed path
	failedEntry                  // a failure: Error, Fatal and their like
)

// String returns the kind in a word.
func (k entryKind) String() string { return [...]string{"note", "fault", "failure"}[k] }

// fault is a call that At has scheduled, or a fault of Chaos.
type fault struct {
	At    time.Duration // since the start of the world, as the test has set it
	due   time.Duration // when it happens: see faultStep
	Where string        // file and line of the call of At or Chaos
	Text  string        // what it does; "": what it has noted at its time
	ran   bool
}

// Seed returns the seed of the world.
func (w *World) Seed() uint64 { return w.seed }

// Rand returns random numbers for choices of the test: the same ones for the same seed. It is for
// the goroutine of the test.
func (w *World) Rand() *rand.Rand { return w.random }

// Elapsed returns how long the world has run, in virtual time.
func (w *World) Elapsed() time.Duration { return time.Since(w.began) }

// At calls a function at a time since the start of the world, in a goroutine of its own: to inject
// a fault. Variables that it shares with the test need a lock or package sync/atomic. When a test
// has failed, it is repeated with fewer of these calls, to find those that matter. A time that has
// passed is now.
//
// The call is some nanoseconds later, when the programs have done what they do at that time. Calls
// for the same time are in the order of At. So a seed repeats them.
func (w *World) At(after time.Duration, call func()) {
	w.addFault(fault{At: after, Where: w.caller()}, call)
}

// addFault schedules the call of a fault, unless it is left out.
func (w *World) addFault(f fault, call func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.At = max(f.At, w.Elapsed())
	number := len(w.faults)
	// 146 years are never, too
	f.due = min(f.At, math.MaxInt64/2) + time.Duration(number+1)*faultStep
	w.faults = append(w.faults, f)
	if w.skip[number] {
		return
	}
	timer := time.AfterFunc(f.due-w.Elapsed(), func() {
		if w.startFault(number) {
			defer w.catch("a function of At")
			call()
		}
	})
	w.cleanups = append(w.cleanups, func() { timer.Stop() })
}

// faultStep is how much later than its time the first fault happens; each further one is later by
// as much again. So no two faults are at one instant, and none is at that of a program's timer or
// of packets that enter the network, which are a nanosecond after their write. The runtime would
// decide which of them comes first.
const faultStep = 2 * time.Nanosecond

// SetLimit sets how long the world may run, in virtual time since now. A world that is not over
// then has failed. Default an hour.
func (w *World) SetLimit(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit != nil {
		w.limit.Stop()
	}
	w.limit = time.AfterFunc(d, func() {
		w.abandon(fmt.Sprintf("the world was not over after %v of virtual time (SetLimit). Its goroutines:\n%s", d, leftGoroutines()))
	})
}

// startFault reports whether a call of At may start: not if the world has ended.
func (w *World) startFault(number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[number].ran = !w.ended
	return !w.ended
}

// note appends to the log.
func (w *World) note(kind entryKind, format string, args ...any) {
	w.add(entry{At: w.Elapsed(), Text: fmt.Sprintf(format, args...), Where: w.caller(), Kind: kind})
}

// noteFault notes a fault. where is the file and line of its cause.
func (w *World) noteFault(where, text string) {
	w.add(entry{At: w.Elapsed(), Text: text, Where: where, Kind: faultEntry})
}

// noteState notes a fault of a host.
func (w *World) noteState(where, host string, s hostState, what string) {
	w.add(entry{At: w.Elapsed(), Text: what + " " + host, Where: where, Kind: faultEntry, host: host, state: s})
}

func (w *World) add(n entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n)
	if n.Kind == failedEntry {
		w.failures = append(w.failures, n)
	}
}

// record is what a world has noted.
type record struct {
	notes, failures []entry
	faults          []fault
	unrepeated      string
	unlinked        []string // names of the hosts without a link
}

// recorded returns what the world has noted. An abandoned world may still go on.
func (w *World) recorded() record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return record{slices.Clone(w.notes), slices.Clone(w.failures), slices.Clone(w.faults), w.unrepeated, w.unlinkedLocked()}
}

// caller returns the file and line of the first caller that is not of this package and has not
// called Helper, or of a test in this package. "" is none.
func (w *World) caller() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	helper := ""
	for {
		f, more := frames.Next()
		_, isHelper := w.helpers.Load(f.Function)
		switch where := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line); {
		case f.Function == "" || isInternal(f):
		case !isHelper:
			return where
		case helper == "":
			helper = where // in case all callers are helpers
		}
		if !more {
			return helper
		}
	}
}

// isInternal reports whether a call is of this package or of the runtime, and not of a test.
func isInternal(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	for _, p := range []string{"weir/tcpip/netsim.", "runtime.", "testing.", "testing/synctest."} {
		if strings.HasPrefix(f.Function, p) {
			return true
		}
	}
	return false
}
