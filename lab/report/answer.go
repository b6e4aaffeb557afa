package report

import (
	"fmt"

	"weir/lab/result"
)

// answer returns the sentences at the top of the report: the subjects that failed, then the
// verdict.
func (d *digest) answer() []string { return append(d.failureSentences(), d.verdict()...) }

// verdict returns the sentences on CPU and on its stability. They claim an order only where a
// comparison found a significant difference.
func (d *digest) verdict() []string {
	switch {
	case len(d.Trials) == 0 && len(d.Probes) > 0:
		return d.saturationAnswer()
	case len(d.Trials) == 0:
		return []string{"No trial was run, so there is no answer yet.", "The command at the end of this report runs them."}
	case d.accepted() == 0:
		return []string{fmt.Sprintf("There is no answer: %s, and none was accepted.", plural(len(d.Trials), "trial was run", "trials were run")),
			"The section Rejected trials gives the causes. Most do not occur on an otherwise idle machine."}
	}
	return d.kind.answer()
}

// family returns the comparisons of different subjects in a group, without those of an A/A control.
func (d *digest) family(metric string, g *group) []result.Comparison {
	var out []result.Comparison
	for _, c := range d.Comparisons {
		if c.Metric == metric && !c.AAControl && c.Load == g.load && c.Connections == g.connections && c.Pattern == g.pattern {
			out = append(out, c)
		}
	}
	return out
}

// caveats returns the conditions that weaken the answer, the most serious first.
func (d *digest) caveats() []string {
	var out []string
	add := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	differing := d.differingControls()
	add(differing > 0, "The A/A control failed: a subject was called different from itself in %s. Repeat the run before you rely on differences of that size.", plural(differing, "comparison", "comparisons"))
	add(d.Finished.IsZero(), "This run is not complete: it was interrupted or is still running. --resume continues it.")
	add(d.Plan.Quick, "This was a quick run: few subjects, short trials. Without --quick it takes longer and finds smaller differences.")
	add(d.rejected() > 0 && d.accepted() > 0, "%s: %s.", d.rejectedOf(), d.causeList(3))
	for _, s := range d.capacityCaveats() {
		add(true, "%s", s)
	}
	for _, s := range d.conditionCaveats() {
		add(true, "%s", s)
	}
	for _, s := range d.Skipped {
		add(true, "%s did not take part: %s", s.Subject, s.Reason)
	}
	for _, s := range d.Subjects {
		add(s.Elsewhere && !s.SameMachine, "%s ran on another machine: its CPU was not measured.", s.Name)
		add(s.SameMachine, "%s was not started by the lab: its CPU was not measured. Its trials were not rejected for the CPU of other processes, which cannot be separated from its own.", s.Name)
	}
	return out
}
