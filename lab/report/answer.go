package report

import (
	"fmt"

	"weir/lab/result"
)

// answer is what stands at the top: who failed, and the two sentences of the verdict.
func (d *digest) answer() []string { return append(d.failureSentences(), d.verdict()...) }

// verdict is two sentences, one on cost and one on stability; the table after them has the details.
// They claim an order only where a comparison does: the lowest mean is named along with what it was
// not told from.
func (d *digest) verdict() []string {
	switch {
	case len(d.Trials) == 0 && len(d.Probes) > 0:
		return d.saturationAnswer()
	case len(d.Trials) == 0:
		return []string{"No trial was run, so there is no answer yet.", "The command at the end of this report runs them."}
	case d.accepted() == 0:
		return []string{fmt.Sprintf("There is no answer: %s, and none may count.", plural(len(d.Trials), "trial was run", "trials were run")),
			"The section on refusals gives the reasons; most go away on a machine with nothing else to do."}
	case d.Plan.HTTP():
		return d.requestsAnswer()
	case d.Plan.Stack():
		return d.stacksAnswer()
	case d.asPublished():
		return d.publishedAnswer()
	}
	return []string{d.cpuSentence(), d.stabilitySentence()}
}

// family is the comparisons of subjects with one another in a group; the twin's stands apart.
func (d *digest) family(metric string, g *group) []result.Comparison {
	var out []result.Comparison
	for _, c := range d.Comparisons {
		if c.Metric == metric && !c.Twin && c.Load == g.load && c.Connections == g.connections && c.Pattern == g.pattern {
			out = append(out, c)
		}
	}
	return out
}

// caveats is what weakens the answer, most serious first.
func (d *digest) caveats() []string {
	var out []string
	add := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	differing, refused := d.twinsDiffering(), d.refused()
	add(differing > 0, "The lab called a subject different from its own twin in %s. Measure again before believing differences of that size.", plural(differing, "comparison", "comparisons"))
	add(d.Finished.IsZero(), "This run is not complete: it was interrupted or is still going on. --resume continues it.")
	add(d.Plan.Quick, "This was a quick run: few subjects, short trials. Without --quick it takes longer and decides more.")
	add(refused > 0 && d.accepted() > 0, "%s of %s refused and not counted; the reasons stand under Refusals.", count(refused), plural(len(d.Trials), "trial was", "trials were"))
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
		add(s.Elsewhere && !s.Here, "%s ran on another machine: its CPU was not measured.", s.Name)
		add(s.Here, "%s was not started by the lab: its CPU was not measured, and its trials were not refused for any other process's, which could not be told from it.", s.Name)
	}
	return out
}

func (d *digest) twinsDiffering() int {
	n := 0
	for _, c := range d.Comparisons {
		if c.Twin && c.Verdict == result.Different {
			n++
		}
	}
	return n
}
