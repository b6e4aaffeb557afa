package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/lab/result"
)

// questionsSection answers the three research questions of the paper from the data of the run.
func (d *digest) questionsSection() section {
	s := section{ID: "questions", Title: "The paper's three questions",
		How: "Each answer is made from the verdicts and checks of this run; \"undecided\" means that this run cannot tell, not that there is no difference."}
	if len(d.Trials) == 0 && len(d.Portability) == 0 && len(d.Probes) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, block{Head: "1. CPU: what do processes in C cost against goroutines?"})
	s.Blocks = append(s.Blocks, d.pairAnswer(result.MetricCPU, "cost", "CPU per message")...)
	s.Blocks = append(s.Blocks, block{Head: "2. Stability: how steady is that CPU under a constant load?"})
	s.Blocks = append(s.Blocks, d.pairAnswer(result.MetricCV, "varied", "variation of CPU")...)
	for _, f := range d.fields() {
		s.Blocks = append(s.Blocks, text("Near capacity, with %s: %s", d.fieldName(f), d.flatSentence(f)))
	}
	if len(d.Probes) == 0 {
		s.Blocks = append(s.Blocks, text("How steady it is near capacity was not measured in this run: --saturation does."))
	}
	s.Blocks = append(s.Blocks, block{Head: "3. Portability: do the C programs build and work elsewhere without change?"})
	s.Blocks = append(s.Blocks, d.portability()...)
	return s
}

// pairAnswer compares the published pair of paradigms in a metric: counts of verdicts, and each of
// them.
func (d *digest) pairAnswer(metric, verb, noun string) []block {
	if len(d.Trials) == 0 {
		return []block{text("Not answered by this run, which has no trials at a constant load.")}
	}
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	if c == "" || goLang == "" {
		return []block{text("Not answered by this run: it takes both a process per connection in C (c-fork) and a goroutine per connection (go-goroutine).")}
	}
	t := &table{Caption: upper(noun) + ", " + goLang + " over " + c, Align: "llrrr", Head: []string{"Where", "Verdict", "Ratio", "95 % interval", "Pairs"}}
	said := map[string]int{}
	for _, g := range d.groups {
		if v, ok := d.versus(metric, g, goLang, c); ok {
			said[pairVerdict(v, verb)]++
			t.add(d.caption(g), pairVerdict(v, verb), ratioOf(v), between(v.Low, v.High), count(v.Pairs))
		}
	}
	if len(t.Rows) == 0 {
		return []block{text("Not answered by this run: %s and %s have no accepted trials under the same load.", c, goLang)}
	}
	return []block{text("%s. %s", upper(tally(said)), d.correction(metric)), {Table: t}}
}

// tally counts what was said, most often first: "x cost more than y in 6 of 9 cells, …".
func tally(said map[string]int) string {
	words := slices.SortedFunc(maps.Keys(said), func(a, b string) int { return cmp.Or(cmp.Compare(said[b], said[a]), cmp.Compare(a, b)) })
	all := 0
	for _, n := range said {
		all += n
	}
	for i, w := range words {
		words[i] = fmt.Sprintf("%s in %d of %s", w, said[w], plural(all, "cell", "cells"))
	}
	return strings.Join(words, "; ")
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
	return verdictWord(v)
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
	s := fmt.Sprintf("%d of %s of a C subject and a target were built without change and passed the parts of the contract that move bytes and end processes; the others were not tried there.", passed, plural(tested, "tested combination", "tested combinations"))
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
