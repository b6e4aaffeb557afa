package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// questionsSection answers the paper's three research questions. It has only the questions that the
// run can answer.
func (d digest) questionsSection() report.Section {
	s := report.Section{ID: "questions", Title: "The paper's three questions",
		How: "Each answer summarizes verdicts and checks of this run. \"Undecided\" means that neither a difference nor equivalence was shown."}
	s.Blocks = append(s.Blocks, report.Block{Head: "1. CPU: how do processes in C compare with goroutines?"})
	s.Blocks = append(s.Blocks, d.pairAnswer(result.MetricCPU, "used", "CPU per message")...)
	s.Blocks = append(s.Blocks, report.Block{Head: "2. Stability: how steady is that CPU under a constant load?"})
	s.Blocks = append(s.Blocks, d.pairAnswer(result.MetricCV, "varied", "variation of CPU")...)
	for _, f := range d.capacityGroups() {
		s.Blocks = append(s.Blocks, report.Paragraph("Near capacity, with %s: %s", f.name, d.flatSentence(f)))
	}
	s.Blocks = append(s.Blocks, report.Block{Head: "3. Portability: do the C programs build and work elsewhere without change?"})
	s.Blocks = append(s.Blocks, d.portability()...)
	return s
}

// pairAnswer compares the published concurrency models in a metric: the number of each verdict, and
// a table. It is empty if the run has no such comparison.
func (d digest) pairAnswer(metric, verb, noun string) []report.Block {
	t := &report.Table{Caption: format.Upper(noun) + ", " + d.Go + " over " + d.C, Align: "llrrr", Head: []string{"Cell", "Verdict", "Ratio", "95 % interval", "Pairs"}}
	var said format.Tally
	for _, g := range d.Groups {
		if v, ok := d.Pair(metric, g); ok {
			said.Add(pairVerdict(v, verb), 1)
			t.Add(d.Caption(g), pairVerdict(v, verb), report.RatioOf(v), format.Between(v.Low, v.High), format.Count(v.Pairs))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	in := said.ByCount().Phrases("%s in %s of " + format.Plural(len(t.Rows), "cell", "cells"))
	return []report.Block{report.Paragraph("%s. %s", strings.Join(in, "; "), d.Correction(metric)), {Table: t}}
}

func pairVerdict(v result.Comparison, verb string) string {
	switch {
	case v.Verdict == result.Different && v.Ratio > 1:
		return fmt.Sprintf("%s %s more than %s", v.A, verb, v.B)
	case v.Verdict == result.Different:
		return fmt.Sprintf("%s %s less than %s", v.A, verb, v.B)
	case v.Verdict == result.Equivalent:
		return fmt.Sprintf("%s and %s were equivalent", v.A, v.B)
	}
	return report.VerdictWord(v)
}

// portability says on which targets the C subjects were built and tested. It is empty if none was
// tried.
func (d digest) portability() []report.Block {
	if len(d.Portability) == 0 {
		return nil
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
	s := fmt.Sprintf("%d of %s of a C subject and a target were built without change and passed the parts of the contract that transfer data and stop processes. The other parts of the contract were not tested there.", passed, format.Plural(tested, "tested combination", "tested combinations"))
	if slices.Sort(untested); len(untested) > 0 {
		s += " Not tested, or not for every subject: " + strings.Join(slices.Compact(untested), ", ") + "."
	}
	s += " Other kernels, such as FreeBSD and macOS, are not tested here."
	return []report.Block{report.Block{Text: s}, {Table: d.portabilityTable()}}
}

// notTested reports whether a target was not tried.
func notTested(p result.Portability) bool {
	return !p.Built && !p.Passed && strings.HasPrefix(p.Note, "not tested")
}

func (d digest) portabilityTable() *report.Table {
	t := &report.Table{Caption: "C subjects by compiler and machine", Align: "l", Head: []string{"Subject"}}
	var subjects []string
	cells := map[[2]string]string{}
	for _, p := range d.Portability {
		if !slices.Contains(subjects, p.Subject) {
			subjects = append(subjects, p.Subject)
		}
		if !slices.Contains(t.Head[1:], p.Target) {
			t.AddColumn(p.Target, 'l')
		}
		cells[[2]string{p.Subject, p.Target}] = portable(p)
	}
	for _, s := range subjects {
		row := []string{s}
		for _, target := range t.Head[1:] {
			row = append(row, cmp.Or(cells[[2]string{s, target}], "not tested"))
		}
		t.Add(row...)
	}
	return t
}

// portable formats the outcome of one subject on one target.
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
