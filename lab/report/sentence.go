package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// Lead is the cell with the lowest mean of a metric in a group.
type Lead struct {
	First  *Cell
	Value  Estimate
	Tied   []string // subjects that are not significantly different from it
	rivals int      // number of other cells with a value
	// number of them with a verdict: they have enough trials
	compared int
}

// metric returns a cell's estimate in a metric, CPU unless it is the variation.
func (c *Cell) metric(metric string) Estimate {
	if metric == result.MetricCV {
		return c.CV
	}
	return c.PerMessage
}

// servers returns the cells with a value in a metric, without the floor unless it is the only one.
func (d *Digest) servers(g *Group, metric string) []*Cell {
	all := selected(g.Cells, func(c *Cell) bool { return c.metric(metric).Known() })
	servers := selected(all, func(c *Cell) bool { return d.Subject(c.Subject).Paradigm != Floor })
	if len(servers) == 0 {
		return all
	}
	return servers
}

// Lead returns the lead of a group; ok is false if no cell has a value.
func (d *Digest) Lead(metric string, g *Group) (l Lead, ok bool) {
	servers := d.servers(g, metric)
	if len(servers) == 0 {
		return l, false
	}
	l.First = slices.MinFunc(servers, func(a, b *Cell) int { return cmp.Compare(a.metric(metric).Mean, b.metric(metric).Mean) })
	l.Value, l.rivals = l.First.metric(metric), len(servers)-1
	for _, c := range servers {
		if c == l.First {
			continue
		}
		v, ok := d.Versus(metric, g, c.Subject, l.First.Subject)
		if ok {
			l.compared++
		}
		if !ok || v.Verdict != result.Different {
			l.Tied = append(l.Tied, c.Subject)
		}
	}
	return l, true
}

// FirstLead returns the first group that has a lead, and the lead; nil if there is none.
func (d *Digest) FirstLead(metric string, groups []*Group) (*Group, Lead) {
	for _, g := range groups {
		if l, ok := d.Lead(metric, g); ok {
			return g, l
		}
	}
	return nil, Lead{}
}

// maxNamed is the largest number of subjects that a sentence lists by name.
const maxNamed = 4

// Sentence says what the first subject did, and which others are not significantly different.
func (l Lead) Sentence(did string) string {
	s := l.First.Subject + " " + did
	switch {
	case l.rivals == 0:
		return s + ", as the only subject measured there"
	case l.compared == 0:
		return s + "; it has too few accepted trials to be compared with the others"
	case len(l.Tied) == 0:
		return s + "; all others are significantly different"
	case len(l.Tied) == l.rivals && l.rivals > 1:
		return s + "; no other is significantly different"
	case len(l.Tied) > maxNamed:
		return fmt.Sprintf("%s; %d others are not significantly different", s, len(l.Tied))
	case len(l.Tied) == 1:
		return s + "; " + l.Tied[0] + " is not significantly different"
	}
	return s + "; " + format.List(l.Tied) + " are not significantly different"
}

// ComparePair states a comparison and no more than its verdict: "b used 1.62 times as much CPU as a
// (1.50 to 1.74)".
func (d *Digest) ComparePair(v result.Comparison, metric string) string {
	as, same := "used %s times as much CPU as", "used the same CPU"
	if metric == result.MetricCV {
		as, same = "varied %s times as much as", "varied the same"
	}
	switch {
	case v.Verdict == result.Different:
		return fmt.Sprintf("%s "+as+" %s (%s)", v.A, format.Times(v.Ratio), v.B, format.Between(v.Low, v.High))
	case v.Verdict == result.Equivalent:
		return fmt.Sprintf("%s and %s %s within %s %%", v.A, v.B, same, format.Short(100*d.Plan.Margin))
	case TooShort(v):
		return fmt.Sprintf("for %s and %s the run is %s", v.A, v.B, stat.TooShort)
	}
	interval := format.Between(v.Low, v.High)
	if interval != format.NoInterval {
		interval = "ratio " + interval
	}
	return fmt.Sprintf("%s and %s are not significantly different (%s)", v.A, v.B, interval)
}

// TooShort reports whether a comparison of variations has too few windows for a ratio.
func TooShort(v result.Comparison) bool { return strings.HasPrefix(v.Warning, stat.TooShort) }

// VerdictWord returns the verdict, or TooShort.
func VerdictWord(v result.Comparison) string {
	if TooShort(v) {
		return stat.TooShort
	}
	return v.Verdict
}

// RatioOf formats the ratio, or absent if the trials are too short.
func RatioOf(v result.Comparison) string {
	if TooShort(v) {
		return format.Absent
	}
	return format.Times(v.Ratio)
}

// RatioWithin formats the ratio and its corrected interval, if there are any: "1.7 (1.5 to 1.9)".
func RatioWithin(v result.Comparison) string {
	if TooShort(v) || v.High == 0 {
		return RatioOf(v)
	}
	return fmt.Sprintf("%s (%s)", format.Times(v.Ratio), format.Between(v.Low, v.High))
}

// Correction says over how many comparisons the verdicts in a metric are corrected.
func (d *Digest) Correction(metric string) string {
	tested := selected(d.Comparisons, func(c result.Comparison) bool { return c.Metric == metric && c.High != 0 && !d.isHeadline(c) })
	if h := d.Headline; h.Tested() && h.Metric == metric {
		return d.besideHeadline(format.Plural(len(tested), "comparison", "comparisons"), metric)
	}
	if len(tested) == 0 {
		return fmt.Sprintf("Nothing was tested for %s.", d.metricNoun(metric))
	}
	return fmt.Sprintf("Verdicts on %s have Holm's correction for %s: at most one run in 20 has a false \"different\" among them.",
		d.metricNoun(metric), format.Plural(len(tested), "comparison", "comparisons"))
}

// metricNoun names a metric within a sentence.
func (d *Digest) metricNoun(metric string) string {
	switch metric {
	case result.MetricCV:
		return "the variation of CPU"
	case result.MetricRate:
		return d.Units() + " per second"
	case result.MetricLatency:
		return "the mean time of an operation"
	}
	return "CPU per " + d.Unit()
}
