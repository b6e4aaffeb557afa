package paper

import (
	"fmt"
	"slices"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// Answer says which subject used the least CPU, and which had the steadiest. It is empty without
// trials.
func (d Run) Answer() report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	return report.Answer{Sentences: slices.Concat(d.cpuSentences(), []string{d.stabilitySentence()}), Figure: d.MainFigure()}
}

// cpuSentences say which subject used the least CPU under the first arrival pattern, and how the
// two published concurrency models compare there.
func (d Run) cpuSentences() []string {
	groups := d.Busiest()
	g, l := d.FirstLead(result.MetricCPU, groups)
	if g == nil {
		return []string{fmt.Sprintf("At %s no CPU was measured.", format.Connections(groups[0].Connections))}
	}
	out := []string{fmt.Sprintf("At %s %s, %s.", format.Connections(g.Connections), format.Arrivals(g.Pattern),
		l.Sentence(fmt.Sprintf("used the least CPU (%s µs per %s)", format.Sig(l.Value.Mean), d.Unit())))}
	if pair := d.pairClause(result.MetricCPU, g, groups); pair != "" {
		out = append(out, pair+".")
	}
	return out
}

// stabilitySentence says which subject's CPU varied least.
func (d Run) stabilitySentence() string {
	groups := d.Busiest()
	g, l := d.FirstLead(result.MetricCV, groups)
	if g == nil {
		return d.tooShortSentence(groups)
	}
	s := fmt.Sprintf("Over windows of %s ms, %s", format.Short(d.Plan.WindowMS), l.Sentence(fmt.Sprintf("had the steadiest CPU (σ/µ %s)", format.Sig(l.Value.Mean))))
	if v, ok := d.Pair(result.MetricCV, g); ok && v.Verdict != result.Undecided {
		s += "; " + d.pairClause(result.MetricCV, g, groups)
	}
	return s + "."
}

// tooShortSentence says that the trials have too few windows for their variation.
func (d Run) tooShortSentence(groups []*report.Group) string {
	most := 0
	for _, g := range groups {
		for _, c := range g.Cells {
			most = max(most, c.Spread.DF)
		}
	}
	return fmt.Sprintf("For the steadiness of the CPU this run is %s: there are at most %s, and %d are needed. Use longer trials or more blocks.",
		stat.TooShort, format.Plural(most, "degree of freedom", "degrees of freedom"), stat.MinDF)
}

// pairClause compares the published concurrency models in one group, and says whether another
// arrival pattern reverses their order. It is empty if one of them did not take part.
func (d Run) pairClause(metric string, g *report.Group, groups []*report.Group) string {
	v, ok := d.Pair(metric, g)
	if !ok {
		return ""
	}
	said := d.ComparePair(v, metric)
	var others, reversed []string
	for _, other := range groups {
		w, ok := d.Pair(metric, other)
		if !ok || other == g {
			continue
		}
		others = append(others, other.Pattern)
		if w.Verdict == result.Different && (v.Verdict != result.Different || (w.Ratio > 1) != (v.Ratio > 1)) {
			reversed = append(reversed, fmt.Sprintf("%s (%s times)", format.Arrivals(other.Pattern), format.Times(w.Ratio)))
		}
	}
	switch {
	case len(reversed) > 0 && v.Verdict == result.Different:
		said += "; the order is the opposite " + format.List(reversed)
	case len(reversed) > 0:
		said += "; the difference is significant " + format.List(reversed)
	case len(others) > 0 && v.Verdict == result.Different:
		said += "; no other arrival pattern reversed this"
	}
	return said
}
