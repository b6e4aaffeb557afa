package netsim

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// explain fails t for a world that has failed: it finds the faults that are needed, and writes the
// report.
func explain(t *testing.T, w *World, test func(*World), seeds *tally) {
	t.Helper()
	var o outcome
	rec := w.recorded()
	if rec.unrepeated == "" {
		o = shrink(t, w, test)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "netsim: seed %d failed\n", w.seed)
	rec.describeFailures(&b)
	b.WriteString(seeds.String())
	rec.describeFaults(&b, o)
	rec.describeNotes(&b)
	if text := rec.unlinkedText(); text != "" {
		b.WriteString(text + "\n")
	}
	if dir, err := writeReport(reportsFolder(), t.Name(), w, o); err != nil {
		fmt.Fprintf(&b, "The report could not be written: %v\n", err)
	} else {
		fmt.Fprintf(&b, "Report: %s (sequence of packets, faults, notes; a capture of each host beside it)\n", filepath.Join(dir, "index.html"))
	}
	fmt.Fprintf(&b, "Repeat: %s", command(t.Name(), w.seed))
	t.Error(b.String())
}

// shownFailures, shownFaults and shownNotes limit what explain prints: the report has all.
const shownFailures, shownFaults, shownNotes = 5, 20, 10

func (r record) describeFailures(b *strings.Builder) {
	for _, f := range r.failures[:min(len(r.failures), shownFailures)] {
		fmt.Fprintf(b, "    %v  %s: %s\n", f.At, f.Where, indented(f.Text))
	}
	if more := len(r.failures) - shownFailures; more > 0 {
		fmt.Fprintf(b, "    and %d more failures\n", more)
	}
}

// describeFaults describes the faults that are needed.
func (r record) describeFaults(b *strings.Builder, o outcome) {
	switch {
	case r.unrepeated != "":
		fmt.Fprintf(b, "The seed was not run again with fewer faults: %s.\n", r.unrepeated)
		return
	case !o.repeatable:
		b.WriteString("The same seed did not fail again: the test is not repeatable (see Repeat).\n")
		return
	case len(r.faults) == 0:
		return
	case len(o.needed) == 0:
		fmt.Fprintf(b, "It fails without its faults, too (%d).\n", len(r.faults))
		return
	case !o.minimal:
		fmt.Fprintf(b, "It fails with these faults (%d of %d), and perhaps with fewer: %s.\n", len(o.needed), len(r.faults), unfinished)
	default:
		fmt.Fprintf(b, "Faults that are needed to fail (%d of %d):\n", len(o.needed), len(r.faults))
	}
	for _, n := range o.needed[:min(len(o.needed), shownFaults)] {
		fmt.Fprintf(b, "    %v  %s: %s\n", o.smallest.faults[n].At, o.smallest.faults[n].Where, o.smallest.effectOf(n))
	}
	if more := len(o.needed) - shownFaults; more > 0 {
		fmt.Fprintf(b, "    and %d more faults\n", more)
	}
	if text := r.otherText(o); text != "" {
		fmt.Fprintf(b, "    %s\n", indented(text))
	}
}

// otherText says what the failure is with the needed faults alone: it has the line of the world's,
// but its values may differ. "" is the same.
func (r record) otherText(o outcome) string {
	if len(o.needed) == 0 || len(r.failures) == 0 || len(o.smallest.failures) == 0 {
		return ""
	}
	first, text := o.smallest.failures[0], o.smallest.failures[0].head()
	if text == r.failures[0].head() {
		return ""
	}
	return fmt.Sprintf("With these alone the failure is, at %v: %s", first.At, text)
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

// effectOf describes the effect of a fault: of one of At, what it has noted at its time.
func (r record) effectOf(n int) string {
	if n >= len(r.faults) || !r.faults[n].ran {
		return "not reached: the test was over"
	}
	if r.faults[n].Text != "" {
		return r.faults[n].Text
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

// maxRepeats limits how often shrink repeats a seed, and maxSearch for how long, in real time:
// other tests need theirs before the -timeout of go test.
const maxRepeats, maxSearch = 100, time.Minute

// unfinished says why shrink has not tried all.
var unfinished = fmt.Sprintf("the search ends after %d runs or %v, and when the -timeout of go test is near", maxRepeats, maxSearch)

// shrinker repeats a failed world with fewer and fewer of the faults of At.
type shrinker struct {
	t       *testing.T
	w       *World
	test    func(*World)
	skip    map[int]bool // numbers of the faults without which the world fails
	began   time.Time    // in real time
	repeats int
	slowest time.Duration // of the repeats, in real time
	ended   bool          // before all was tried
	outcome
}

// shrink repeats a failed world with fewer and fewer of the faults of At, and finds those without
// which the failure does not happen: none of them can be left out alone, unless the search ends
// before. Only the same failure counts, not another one that fewer faults bring about. The world is
// not repeatable if it does not happen again with all of them.
func shrink(t *testing.T, w *World, test func(*World)) outcome {
	s := &shrinker{t: t, w: w, test: test, began: time.Now()}
	if !s.fails(nil) {
		return s.outcome
	}
	s.repeatable = true
	count := len(s.smallest.faults)
	for size := count; size > 1; size /= 2 {
		s.leaveOut(count, size)
	}
	for s.leaveOut(count, 1) {
	}
	s.minimal = !s.ended
	s.needed = without(s.skip, min(count, len(s.smallest.faults)))
	return s.outcome
}

// fails repeats the world without some faults, and reports whether the same failure happens.
func (s *shrinker) fails(skip map[int]bool) bool {
	begin := time.Now()
	again := newWorld(s.w.seed, skip)
	again.runIn(s.t, s.test)
	s.repeats++
	s.slowest = max(s.slowest, time.Since(begin))
	if again.failedAt() != s.w.failedAt() {
		return false
	}
	s.skip, s.smallest = skip, again.recorded()
	return true
}

// leaveOut tries to leave out each range of the faults 0 to count-1, of a size, and reports whether
// it could leave out any.
func (s *shrinker) leaveOut(count, size int) (any bool) {
	for begin := 0; begin < count; begin += size {
		more := withRange(s.skip, begin, min(begin+size, count))
		if len(more) == len(s.skip) {
			continue
		}
		if s.isOver() {
			return false
		}
		any = s.fails(more) || any
	}
	return any
}

// isOver reports whether the search must end.
func (s *shrinker) isOver() bool {
	deadline, ok := s.t.Deadline()
	s.ended = s.ended || s.repeats > maxRepeats || time.Since(s.began) > maxSearch || ok && time.Until(deadline) < 2*(s.slowest+reserve(deadline))
	return s.ended
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
		return first.head()
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
