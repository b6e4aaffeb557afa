package report

import (
	"fmt"
	"slices"

	"weir/lab/report/format"
)

// answer returns the top of the report: the subjects that failed, the headline, the answer of the
// kind, and the conditions that weaken it.
func (d *Digest) answer() Answer {
	var a Answer
	switch {
	case len(d.Knees) > 0:
		a = d.kneeAnswer()
	case len(d.Trials) == 0 && len(d.Probes) == 0:
		a.Sentences = []string{"No trial was run, so there is no answer yet.", "The command at the end of this report runs them."}
	case len(d.Trials) > 0 && d.Accepted() == 0:
		a.Sentences = []string{fmt.Sprintf("There is no answer: %s, and none was accepted.", format.Plural(len(d.Trials), "trial was run", "trials were run")),
			"The section Rejected trials gives the causes. Most do not occur on an otherwise idle machine."}
	default:
		a = d.kind.Answer(d)
	}
	if a.How == "" {
		a.How = "Figures are means over accepted trials; brackets contain 95 % confidence intervals. \"Significantly different\" includes a correction for the number of comparisons."
	}
	a.Sentences = slices.Concat(d.failureSentences(), d.headlineSentences(), a.Sentences)
	a.Caveats = d.caveats(a.Caveats)
	return a
}

// caveats returns the conditions that weaken the answer, the most serious first; particular are
// those of the kind.
func (d *Digest) caveats(particular []string) []string {
	var out []string
	add := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	differing := d.differingControls()
	add(differing > 0, "The A/A control failed: a subject was called different from itself in %s. Repeat the run before you rely on differences of that size.", format.Plural(differing, "comparison", "comparisons"))
	out = append(out, d.headlineCaveats()...)
	add(d.Finished.IsZero(), "This run is not complete: it was interrupted or is still running. --resume continues it.")
	add(d.Plan.Quick, "This was a quick run: few subjects, short trials. Without --quick it takes longer and finds smaller differences.")
	add(d.rejected() > 0 && d.Accepted() > 0, "%s: %s.", d.rejectedOf(), d.causeList(3))
	out = append(append(out, particular...), d.conditionCaveats()...)
	for _, s := range d.Skipped {
		add(true, "%s did not take part: %s", s.Subject, s.Reason)
	}
	for _, s := range d.Subjects {
		add(s.Elsewhere && !s.SameMachine, "%s ran on another machine: its CPU was not measured.", s.Name)
		add(s.SameMachine, "%s was not started by the lab: its CPU was not measured. Its trials were not rejected for the CPU of other processes, which cannot be separated from its own.", s.Name)
	}
	return out
}
