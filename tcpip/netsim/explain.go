package netsim

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// explain fails t for a world that has failed: it finds the faults that are needed, and writes the
// report.
func explain(t *testing.T, w *World, test func(*World)) {
	t.Helper()
	o := shrink(t, w, test)
	rec := w.recorded()
	var b strings.Builder
	fmt.Fprintf(&b, "netsim: seed %d failed\n", w.seed)
	rec.describeFailures(&b)
	switch {
	case !o.repeatable:
		b.WriteString("The same seed did not fail again: the test is not repeatable (see Repeat).\n")
	case len(rec.faults) > 0 && len(o.needed) == 0:
		fmt.Fprintf(&b, "It fails without the faults of At, too (%d).\n", len(rec.faults))
	case len(rec.faults) > 0:
		fmt.Fprintf(&b, "Faults that are needed to fail (%d of %d):\n", len(o.needed), len(rec.faults))
		for _, n := range o.needed {
			fmt.Fprintf(&b, "    %v  %s: %s\n", o.smallest.faults[n].At, o.smallest.faults[n].Where, o.smallest.effectOf(n))
		}
	}
	rec.describeNotes(&b)
	if dir, err := writeReport(reportsFolder(), t.Name(), w, o); err != nil {
		fmt.Fprintf(&b, "The report could not be written: %v\n", err)
	} else {
		fmt.Fprintf(&b, "Report: %s (sequence of packets, faults, notes; a capture of each host beside it)\n", filepath.Join(dir, "index.html"))
	}
	fmt.Fprintf(&b, "Repeat: %s", command(t.Name(), w.seed))
	t.Error(b.String())
}

// shownFailures and shownNotes limit what explain prints: the report has all.
const shownFailures, shownNotes = 5, 10

func (r record) describeFailures(b *strings.Builder) {
	for _, f := range r.failures[:min(len(r.failures), shownFailures)] {
		fmt.Fprintf(b, "    %v  %s: %s\n", f.At, f.Where, indented(f.Text))
	}
	if more := len(r.failures) - shownFailures; more > 0 {
		fmt.Fprintf(b, "    and %d more failures\n", more)
	}
}

// describeNotes describes the last notes of the test before its first failure.
func (r record) describeNotes(b *strings.Builder) {
	var notes []entry
	for _, n := range r.notes {
		if n.Kind == failedEntry {
			break
		}
		if n.Kind == testEntry {
			notes = append(notes, n)
		}
	}
	if len(notes) == 0 {
		return
	}
	last := notes[max(0, len(notes)-shownNotes):]
	fmt.Fprintf(b, "Notes before the failure (%d of %d):\n", len(last), len(notes))
	for _, n := range last {
		fmt.Fprintf(b, "    %v  %s: %s\n", n.At, n.Where, indented(n.Text))
	}
}

// indented indents the lines of a text behind the first one.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ")
}

// effectOf describes the effect of a fault of At: what it has noted at its time.
func (r record) effectOf(n int) string {
	if n >= len(r.faults) || !r.faults[n].ran {
		return "not reached: the test was over"
	}
	var did []string
	for _, note := range r.notes {
		if note.Kind == faultEntry && note.At == r.faults[n].due {
			did = append(did, note.Text)
		}
	}
	if len(did) == 0 {
		return "a function of the test"
	}
	return strings.Join(did, "; ")
}

// command returns the command that repeats a seed of a test.
func command(test string, seed uint64) string {
	var pattern []string
	for _, part := range strings.Split(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	quoted := strings.ReplaceAll(strings.Join(pattern, "/"), "'", `'\''`)
	return fmt.Sprintf("%s=%d go test -run '%s' .", seedVariable, seed, quoted)
}

// maxRepeats limits how often shrink repeats a seed.
const maxRepeats = 100

// shrink repeats a failed world with fewer and fewer of the faults of At, and finds those without
// which the failure does not happen: none of them can be left out alone. Only the same failure
// counts, not another one that fewer faults bring about. The world is not repeatable if it does not
// happen again with all of them.
func shrink(t *testing.T, w *World, test func(*World)) (o outcome) {
	fails := func(skip map[int]bool) bool {
		again := newWorld(w.seed, skip)
		again.runIn(t, test)
		if again.failedAt() != w.failedAt() {
			return false
		}
		o.smallest = again.recorded()
		return true
	}
	if !fails(nil) {
		return o
	}
	o.repeatable = true
	count, skip, repeats := len(o.smallest.faults), map[int]bool{}, 1
	for size := count; size > 0; size /= 2 {
		for begin := 0; begin < count && repeats < maxRepeats; begin += size {
			if more := withRange(skip, begin, min(begin+size, count)); len(more) > len(skip) {
				repeats++
				if fails(more) {
					skip = more
				}
			}
		}
	}
	o.needed = without(skip, count)
	return o
}

// without returns the numbers below count that are not in a set.
func without(set map[int]bool, count int) (all []int) {
	for n := range count {
		if !set[n] {
			all = append(all, n)
		}
	}
	return all
}

// failedAt returns the file and line of the first failure, or the text of one of the world itself.
func (w *World) failedAt() string {
	rec := w.recorded()
	if len(rec.failures) == 0 {
		return "no failure"
	}
	first := rec.failures[0]
	if first.Where == "" {
		head, _, _ := strings.Cut(first.Text, "\n")
		return head
	}
	return first.Where
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
