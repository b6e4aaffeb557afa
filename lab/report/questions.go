package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/result"
)

// questionsSection answers the three research questions of the paper from the data of the run.
func (d *digest) questionsSection() section {
	s := section{ID: "questions", Title: "The paper's three questions",
		How: "Each answer is made from the verdicts and checks of this run; \"undecided\" means that this run cannot tell, not that there is no difference."}
	if len(d.Trials) == 0 && len(d.Portability) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, text("1. CPU: what does handling connections in the kernel (processes, in C) cost against handling them in the language's runtime (goroutines)?"),
		d.pairAnswer(metricCPU, "costs", "CPU per message"),
		text("2. Stability: how steady is that CPU under a constant load?"),
		d.pairAnswer(metricCV, "varies", "variation of CPU"))
	if len(d.Saturation) == 0 {
		s.Blocks = append(s.Blocks, text("How steady it is near capacity was not measured in this run: --saturation does."))
	}
	s.Blocks = append(s.Blocks, text("3. Portability: do the C programs build and work without change elsewhere?"))
	s.Blocks = append(s.Blocks, d.portability()...)
	return s
}

// pairAnswer compares the published pair of paradigms in a metric, cell by cell.
func (d *digest) pairAnswer(metric, verb, noun string) block {
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	if c == "" || goLang == "" {
		return text("Not answered by this run: it takes both a process per connection in C (c-fork) and a goroutine per connection (go-goroutine).")
	}
	var items []string
	for _, g := range d.groups {
		v, ok := d.versus(metric, g, goLang, c)
		if !ok {
			continue
		}
		items = append(items, fmt.Sprintf("%s: %s (ratio of %s %s, 95 %% interval %s)", d.caption(g), pairVerdict(v, verb), noun, times(v.Ratio), between(v.Low, v.High)))
	}
	if len(items) == 0 {
		return text("Not answered by this run: %s and %s have no accepted trials under the same load.", c, goLang)
	}
	return block{Items: items}
}

func pairVerdict(v result.Comparison, verb string) string {
	switch {
	case v.Verdict == different && v.Ratio > 1:
		return fmt.Sprintf("%s %s more than %s", v.A, verb, v.B)
	case v.Verdict == different:
		return fmt.Sprintf("%s %s less than %s", v.A, verb, v.B)
	case v.Verdict == equivalent:
		return fmt.Sprintf("%s and %s are equivalent", v.A, v.B)
	}
	return fmt.Sprintf("undecided between %s and %s", v.A, v.B)
}

// portability says what was built and tested where, and what was not.
func (d *digest) portability() []block {
	if len(d.Portability) == 0 {
		return []block{text("Not answered by this run: weir lab portability builds the C subjects with every compiler and for every machine at hand and tests them against the contract.")}
	}
	var tested, passed int
	var untested []string
	for _, p := range d.Portability {
		switch {
		case notTested(p):
			untested = append(untested, p.Target)
		default:
			tested++
			if p.Built && p.Passed {
				passed++
			}
		}
	}
	s := fmt.Sprintf("%d of %s of a C subject and a target were built without change and passed the contract.", passed, plural(tested, "tested combination", "tested combinations"))
	if slices.Sort(untested); len(untested) > 0 {
		s += " Not tested, or not for every subject: " + strings.Join(slices.Compact(untested), ", ") + "."
	}
	s += " Systems other than this one's kernel (FreeBSD and macOS among them) are not tested here."
	return []block{text("%s", s), {Table: d.portabilityTable()}}
}

func notTested(p result.Portability) bool {
	return !p.Built && !p.Passed && strings.HasPrefix(p.Note, "not tested")
}

func (d *digest) portabilityTable() *table {
	t := &table{Caption: "C subjects by compiler and machine", Align: "l", Head: []string{"Subject"}}
	var subjects []string
	cells := map[[2]string]string{}
	for _, p := range d.Portability {
		if !slices.Contains(subjects, p.Subject) {
			subjects = append(subjects, p.Subject)
		}
		if !slices.Contains(t.Head[1:], p.Target) {
			t.Head, t.Align = append(t.Head, p.Target), t.Align+"l"
		}
		cells[[2]string{p.Subject, p.Target}] = portable(p)
	}
	for _, s := range subjects {
		row := []string{s}
		for _, target := range t.Head[1:] {
			row = append(row, orElse(cells[[2]string{s, target}], "not tested"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func portable(p result.Portability) string {
	said := ""
	switch {
	case notTested(p):
		return p.Note
	case p.Built && p.Passed:
		said = "passed"
	case p.Built:
		said = "built, failed"
	default:
		said = "did not build"
	}
	if p.Note != "" {
		said += ": " + p.Note
	}
	return said
}
