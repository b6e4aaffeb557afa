package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/format"
	"weir/lab/result"
)

// failed counts the trials in which the subject itself failed.
func (d *Digest) failed() int {
	n := 0
	for i := range d.Trials {
		if len(d.Trials[i].FailedBecause) > 0 {
			n++
		}
	}
	return n
}

// rejected counts the trials that were disturbed.
func (d *Digest) rejected() int { return len(d.Trials) - d.Accepted() - d.failed() }

// subjectFailures is a subject that failed in some of its trials, those of its A/A control
// included.
type subjectFailures struct {
	subject string
	judged  int // trials that were not rejected
	failed  []*result.Trial
}

// allFailures returns the subjects that failed, in the run's order.
func (d *Digest) allFailures() []subjectFailures {
	var out []subjectFailures
	for _, s := range d.Names {
		f := subjectFailures{subject: s}
		for i := range d.Trials {
			t := &d.Trials[i]
			switch {
			case strings.TrimSuffix(t.Subject, result.ControlSuffix) != s:
			case len(t.FailedBecause) > 0:
				f.failed = append(f.failed, t)
				f.judged++
			case t.Accepted:
				f.judged++
			}
		}
		if len(f.failed) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// failureSentences report failures. They come before the answer, because the figures of a server
// that fails say little.
func (d *Digest) failureSentences() []string {
	var said []string
	for _, f := range d.allFailures() {
		s := fmt.Sprintf("%s failed in %d of %s: %s", f.subject, len(f.failed), format.Plural(f.judged, "trial", "trials"), format.List(f.kinds()))
		if len(f.failed) < f.judged {
			s += "; its figures are from the other trials"
		}
		said = append(said, s+".")
	}
	return said
}

// kinds returns the kinds of failure with their numbers of trials: "wrong byte (2)".
func (f subjectFailures) kinds() []string {
	var kinds []string
	trials := map[string]int{}
	for _, t := range f.failed {
		for _, k := range kindsOf(t) {
			if trials[k] == 0 {
				kinds = append(kinds, k)
			}
			trials[k]++
		}
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s (%d)", k, trials[k])
	}
	return kinds
}

// kindsOf returns the reasons of a failed trial without their figures, each once.
func kindsOf(t *result.Trial) []string {
	var kinds []string
	for _, why := range t.FailedBecause {
		kind, _, _ := strings.Cut(strings.TrimPrefix(why, result.LoadError+": "), ",")
		kind, _, _ = strings.Cut(kind, ":")
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// failuresTable lists the failures by subject and cell, with an example of each.
func (d *Digest) failuresTable() *Table {
	t := &Table{Caption: "Failures of the subjects", Align: "llrrl", Head: []string{"Subject", "Where", "Failed", "Of trials", "For example"}}
	for _, g := range d.Groups {
		for _, c := range g.allCells() {
			if n := len(c.failed); n > 0 {
				t.Add(c.Subject, d.Caption(g), format.Count(n), format.Count(n+len(c.Trials)), fmt.Sprintf("trial %d: %s", c.failed[0].ID, strings.Join(c.failed[0].FailedBecause, "; ")))
			}
		}
	}
	return t
}

// conditionCaveats returns caveats about accepted trials.
func (d *Digest) conditionCaveats() []string {
	var out []string
	add := func(what string, is func(*result.Trial) bool) {
		if bySubject, n := d.countWhere(is); n > 0 {
			out = append(out, fmt.Sprintf("In %s of %s %s (%s).", format.Count(n), format.Plural(d.Accepted(), "accepted trial", "accepted trials"), what, bySubject))
		}
	}
	add("the warm-up reached its time limit before CPU per "+d.Unit()+" was steady", func(t *result.Trial) bool { return t.Unsteady })
	add("half or more of the "+d.Units()+" were sent after the next one was due: they were closer together than the arrival pattern intends", crowded)
	for i, t := range d.Trials {
		same := func(x result.Trial) bool { return x.StopFailure == t.StopFailure }
		if t.StopFailure != "" && slices.IndexFunc(d.Trials, same) == i {
			out = append(out, fmt.Sprintf("After the measurement %s (first in trial %d). The figures are valid.", t.StopFailure, t.ID))
		}
	}
	return out
}

// crowded reports whether messages that should be apart were sent in bursts.
func crowded(t *result.Trial) bool {
	return t.Pattern != "together" && t.LatenessUS.P50*t.OfferedRate > 1e6
}

// countWhere counts the accepted trials that satisfy a condition, in total and by subject.
func (d *Digest) countWhere(is func(*result.Trial) bool) (bySubject string, n int) {
	var names []string
	by := map[string]int{}
	for i := range d.Trials {
		t := &d.Trials[i]
		if !t.Accepted || !is(t) {
			continue
		}
		s := strings.TrimSuffix(t.Subject, result.ControlSuffix)
		if by[s] == 0 {
			names = append(names, s)
		}
		by[s]++
		n++
	}
	for i, s := range names {
		names[i] = fmt.Sprintf("%s: %d", s, by[s])
	}
	return strings.Join(names, ", "), n
}
