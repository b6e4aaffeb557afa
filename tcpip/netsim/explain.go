package netsim

import (
	"fmt"
	"strings"
	"testing"
)

// explain fails t for a world that has failed: it finds the faults that are needed, and writes the
// report.
func explain(t *testing.T, w *World, test func(*World)) {
	t.Helper()
	needed, repeatable := shrink(t, w, test)
	var b strings.Builder
	fmt.Fprintf(&b, "netsim: seed %d failed\n", w.seed)
	for _, f := range w.failures {
		fmt.Fprintf(&b, "    %v  %s: %s\n", f.At, f.Where, strings.ReplaceAll(strings.TrimSpace(f.Text), "\n", "\n        "))
	}
	switch {
	case !repeatable:
		b.WriteString("The same seed did not fail again: the test is not repeatable (see Repeat).\n")
	case len(w.faults) > 0:
		fmt.Fprintf(&b, "Faults that are needed to fail (%d of %d):\n", len(needed), len(w.faults))
		for _, n := range needed {
			fmt.Fprintf(&b, "    %s\n", w.describeFault(n))
		}
	}
	if dir, err := writeReport(t, w); err != nil {
		fmt.Fprintf(&b, "The report could not be written: %v\n", err)
	} else {
		fmt.Fprintf(&b, "Report: %s/index.html (sequence of packets, faults, notes; a capture of each host beside it)\n", dir)
	}
	fmt.Fprintf(&b, "Repeat: %s=%d go test -run '^%s$' .", seedVariable, w.seed, strings.ReplaceAll(t.Name(), "/", "$/^"))
	t.Error(b.String())
}

// describeFault describes a fault of At: when, where in the test, and what it did.
func (w *World) describeFault(n int) string {
	f := w.faults[n]
	var did []string
	for _, note := range w.notes {
		if note.Kind == FaultNote && note.At == f.At {
			did = append(did, note.Text)
		}
	}
	return fmt.Sprintf("%v  %s  %s", f.At, f.Where, strings.Join(did, "; "))
}

// maxRepeats limits how often shrink repeats a seed.
const maxRepeats = 100

// shrink repeats a failed world with fewer and fewer of the faults of At, and returns the numbers
// of those without which the failure does not happen: none of them can be left out alone.
// repeatable is false if the world does not fail again with all of them.
func shrink(t *testing.T, w *World, test func(*World)) (needed []int, repeatable bool) {
	fails := func(skip map[int]bool) bool {
		again := newWorld(w.seed, skip)
		again.runIn(t, test)
		return again.Failed()
	}
	if !fails(nil) {
		return nil, false
	}
	skip, repeats := map[int]bool{}, 1
	for size := len(w.faults); size > 0; size /= 2 {
		for begin := 0; begin < len(w.faults) && repeats < maxRepeats; begin += size {
			if more := withRange(skip, begin, min(begin+size, len(w.faults))); len(more) > len(skip) {
				repeats++
				if fails(more) {
					skip = more
				}
			}
		}
	}
	for n := range w.faults {
		if !skip[n] {
			needed = append(needed, n)
		}
	}
	return needed, true
}

// withRange returns a copy of a set with the numbers from begin to end-1 added.
func withRange(set map[int]bool, begin, end int) map[int]bool {
	more := map[int]bool{}
	for n := range set {
		more[n] = true
	}
	for n := begin; n < end; n++ {
		more[n] = true
	}
	return more
}
