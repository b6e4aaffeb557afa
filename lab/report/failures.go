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
	return d.count(func(t *result.Trial) bool { return len(t.FailedBecause) > 0 })
}

// rejected counts the trials that were disturbed.
func (d *Digest) rejected() int { return len(d.Trials) - d.Accepted() - d.failed() }

// failureSentences report subjects that failed, in trials of their A/A control too. They come
// before the answer, because the figures of a server that fails say little.
func (d *Digest) failureSentences() []string {
	var said []string
	for _, subject := range d.Names {
		failed, judged := 0, 0
		var kinds format.Tally
		for i := range d.Trials {
			t := &d.Trials[i]
			if strings.TrimSuffix(t.Subject, result.ControlSuffix) != subject || !t.Accepted && len(t.FailedBecause) == 0 {
				continue
			}
			judged++
			if len(t.FailedBecause) > 0 {
				failed++
				for _, k := range failureKinds(t) {
					kinds.Add(k, 1)
				}
			}
		}
		if failed == 0 {
			continue
		}
		s := fmt.Sprintf("%s failed in %d of %s: %s", subject, failed, format.Plural(judged, "trial", "trials"), format.List(kinds.Phrases("%s (%s)")))
		if failed < judged {
			s += "; its figures are from the other trials"
		}
		said = append(said, s+".")
	}
	return said
}

// failureKinds returns the reasons of a failed trial without their figures, each once.
func failureKinds(t *result.Trial) []string {
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
		var subjects format.Tally
		n := d.count(func(t *result.Trial) bool {
			if !t.Accepted || !is(t) {
				return false
			}
			subjects.Add(strings.TrimSuffix(t.Subject, result.ControlSuffix), 1)
			return true
		})
		if n > 0 {
			out = append(out, fmt.Sprintf("In %s of %s %s (%s).", format.Count(n), format.Plural(d.Accepted(), "accepted trial", "accepted trials"), what, strings.Join(subjects.Phrases("%s: %s"), ", ")))
		}
	}
	add("the warm-up reached its time limit before CPU per "+d.Unit()+" was steady", func(t *result.Trial) bool { return t.Unsteady })
	add("half or more of the "+d.Units()+" were sent after the next one was due: they were closer together than the arrival pattern intends", func(t *result.Trial) bool {
		return t.Pattern != "together" && t.LatenessUS.P50*t.OfferedRate > 1e6
	})
	var seen format.Tally
	for _, t := range d.Trials {
		if t.StopFailure != "" && seen.Add(t.StopFailure, 1) == 1 {
			out = append(out, fmt.Sprintf("After the measurement %s (first in trial %d). The figures are valid.", t.StopFailure, t.ID))
		}
	}
	return out
}
