package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// cpuSentences say which subject used the least CPU under the first arrival pattern, and how the
// two published concurrency models compare there.
func (d *digest) cpuSentences() []string {
	groups := d.busiest()
	g, l := d.firstLead(result.MetricCPU, groups)
	if g == nil {
		return []string{fmt.Sprintf("At %s no CPU was measured.", conns(groups[0].connections))}
	}
	out := []string{fmt.Sprintf("At %s %s, %s.", conns(g.connections), arrivals(g.pattern),
		l.sentence(fmt.Sprintf("used the least CPU (%s µs per %s)", sig(l.value.mean), d.unit())))}
	if pair := d.pairClause(result.MetricCPU, g, groups); pair != "" {
		out = append(out, pair+".")
	}
	return out
}

// stabilitySentence says which subject's CPU varied least.
func (d *digest) stabilitySentence() string {
	groups := d.busiest()
	g, l := d.firstLead(result.MetricCV, groups)
	if g == nil {
		return d.tooShortSentence(groups)
	}
	s := fmt.Sprintf("Over windows of %s ms, %s", short(d.Plan.WindowMS), l.sentence(fmt.Sprintf("had the steadiest CPU (σ/µ %s)", sig(l.value.mean))))
	if v, ok := d.publishedPair(result.MetricCV, g); ok && v.Verdict != result.Undecided {
		s += "; " + d.pairClause(result.MetricCV, g, groups)
	}
	return s + "."
}

// tooShortSentence says that the trials have too few windows for their variation.
func (d *digest) tooShortSentence(groups []*group) string {
	most := 0
	for _, g := range groups {
		for _, c := range g.cells {
			most = max(most, c.spread.DF)
		}
	}
	return fmt.Sprintf("For the steadiness of the CPU this run is %s: there are at most %s, and %d are needed. Use longer trials or more blocks.",
		stat.TooShort, plural(most, "degree of freedom", "degrees of freedom"), stat.MinDF)
}

// arrivals names an arrival pattern within a sentence: "with staggered arrivals".
func arrivals(pattern string) string {
	switch pattern {
	case result.Closed:
		return "in a closed loop"
	case "together":
		return "with arrivals together"
	}
	return "with " + patternName(pattern) + " arrivals"
}

// lead is the cell with the lowest mean of a metric in a group.
type lead struct {
	first  *cell
	value  estimate
	tied   []string // subjects that are not significantly different from it
	rivals int      // number of other cells with a value
	// number of them with a verdict: they have enough trials
	compared int
}

// metric returns a cell's estimate in a metric, CPU unless it is the variation.
func (c *cell) metric(metric string) estimate {
	if metric == result.MetricCV {
		return c.cv
	}
	return c.perMessage
}

// servers returns the cells with a value in a metric, without the floor unless it is the only one.
func (d *digest) servers(g *group, metric string) []*cell {
	var all, servers []*cell
	for _, c := range g.cells {
		if !c.metric(metric).known() {
			continue
		}
		all = append(all, c)
		if d.subject(c.subject).Paradigm != floorParadigm {
			servers = append(servers, c)
		}
	}
	if len(servers) == 0 {
		return all
	}
	return servers
}

// lead returns the lead of a group; ok is false if no cell has a value.
func (d *digest) lead(metric string, g *group) (l lead, ok bool) {
	servers := d.servers(g, metric)
	for _, c := range servers {
		if v := c.metric(metric); l.first == nil || v.mean < l.value.mean {
			l.first, l.value = c, v
		}
	}
	if l.first == nil {
		return l, false
	}
	for _, c := range servers {
		if c == l.first {
			continue
		}
		l.rivals++
		v, ok := d.versus(metric, g, c.subject, l.first.subject)
		if ok {
			l.compared++
		}
		if !ok || v.Verdict != result.Different {
			l.tied = append(l.tied, c.subject)
		}
	}
	return l, true
}

// firstLead returns the first group that has a lead, and the lead; nil if there is none.
func (d *digest) firstLead(metric string, groups []*group) (*group, lead) {
	for _, g := range groups {
		if l, ok := d.lead(metric, g); ok {
			return g, l
		}
	}
	return nil, lead{}
}

// maxNamed is the largest number of subjects that a sentence lists by name.
const maxNamed = 4

// sentence says what the first subject did, and which others are not significantly different.
func (l lead) sentence(did string) string {
	s := l.first.subject + " " + did
	switch {
	case l.rivals == 0:
		return s + ", as the only subject measured there"
	case l.compared == 0:
		return s + "; it has too few accepted trials to be compared with the others"
	case len(l.tied) == 0:
		return s + "; all others are significantly different"
	case len(l.tied) == l.rivals && l.rivals > 1:
		return s + "; no other is significantly different"
	case len(l.tied) > maxNamed:
		return fmt.Sprintf("%s; %d others are not significantly different", s, len(l.tied))
	case len(l.tied) == 1:
		return s + "; " + l.tied[0] + " is not significantly different"
	}
	return s + "; " + list(l.tied) + " are not significantly different"
}

// publishedPair is the comparison of the published concurrency models, goroutines over processes,
// in one group.
func (d *digest) publishedPair(metric string, g *group) (v result.Comparison, ok bool) {
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	if c == "" || goLang == "" {
		return v, false
	}
	return d.versus(metric, g, goLang, c)
}

// pairClause compares the published concurrency models in one group, and says whether another
// arrival pattern reverses their order. It is empty if one of them did not take part.
func (d *digest) pairClause(metric string, g *group, groups []*group) string {
	v, ok := d.publishedPair(metric, g)
	if !ok {
		return ""
	}
	said := d.comparePair(v, metric)
	var others, reversed []string
	for _, other := range groups {
		w, ok := d.publishedPair(metric, other)
		if !ok || other == g {
			continue
		}
		others = append(others, other.pattern)
		if w.Verdict == result.Different && (v.Verdict != result.Different || (w.Ratio > 1) != (v.Ratio > 1)) {
			reversed = append(reversed, fmt.Sprintf("%s (%s times)", arrivals(other.pattern), times(w.Ratio)))
		}
	}
	switch {
	case len(reversed) > 0 && v.Verdict == result.Different:
		said += "; the order is the opposite " + list(reversed)
	case len(reversed) > 0:
		said += "; the difference is significant " + list(reversed)
	case len(others) > 0 && v.Verdict == result.Different:
		said += "; no other arrival pattern reversed this"
	}
	return said
}

// comparePair states a comparison and no more than its verdict: "b used 1.62 times as much CPU as a
// (1.50 to 1.74)".
func (d *digest) comparePair(v result.Comparison, metric string) string {
	as, same := "used %s times as much CPU as", "used the same CPU"
	if metric == result.MetricCV {
		as, same = "varied %s times as much as", "varied the same"
	}
	switch {
	case v.Verdict == result.Different:
		return fmt.Sprintf("%s "+as+" %s (%s)", v.A, times(v.Ratio), v.B, between(v.Low, v.High))
	case v.Verdict == result.Equivalent:
		return fmt.Sprintf("%s and %s %s within %s %%", v.A, v.B, same, short(100*d.Plan.Margin))
	case tooShort(v):
		return fmt.Sprintf("for %s and %s the run is %s", v.A, v.B, stat.TooShort)
	}
	return fmt.Sprintf("%s and %s are not significantly different (%s)", v.A, v.B, ratioInterval(v))
}

// ratioInterval is "ratio 0.53 to 1.90", or "no interval".
func ratioInterval(v result.Comparison) string {
	if s := between(v.Low, v.High); s != noInterval {
		return "ratio " + s
	}
	return noInterval
}

// tooShort reports whether a comparison of variations has too few windows for a ratio.
func tooShort(v result.Comparison) bool { return strings.HasPrefix(v.Warning, stat.TooShort) }

// verdictWord returns the verdict, or TooShort.
func verdictWord(v result.Comparison) string {
	if tooShort(v) {
		return stat.TooShort
	}
	return v.Verdict
}

// ratioOf formats the ratio, or absent if the trials are too short.
func ratioOf(v result.Comparison) string {
	if tooShort(v) {
		return absent
	}
	return times(v.Ratio)
}

// ratioWithin formats the ratio and its corrected interval, if there are any: "1.7 (1.5 to 1.9)".
func ratioWithin(v result.Comparison) string {
	if tooShort(v) || v.High == 0 {
		return ratioOf(v)
	}
	return fmt.Sprintf("%s (%s)", times(v.Ratio), between(v.Low, v.High))
}

// detailSection gives the answer for each arrival pattern. It is empty if there is one pattern, or
// for runs of the published programs, which have a section of their own.
func (d *digest) detailSection() section {
	s := section{ID: "detail", Title: "The answer by arrival pattern",
		How: "A subject that is not significantly different may use as much as the lowest; the run cannot tell. " + d.correction(result.MetricCPU) + " " + d.correction(result.MetricCV)}
	groups := d.busiest()
	if len(groups) < 2 || d.accepted() == 0 || d.asPublished() {
		return s
	}
	pair := d.firstOf(publishedGo) + " / " + d.firstOf(publishedC)
	t := &table{Caption: upper(conns(groups[0].connections)), Align: "lllllll",
		Head: []string{"Arrivals", "Least CPU, µs per message", "Not significantly different", pair, "Steadiest CPU, σ/µ", "Not significantly different in σ/µ", pair + ", σ/µ"}}
	for _, g := range groups {
		row := []string{patternName(g.pattern)}
		for _, metric := range []string{result.MetricCPU, result.MetricCV} {
			row = append(row, d.leadCells(metric, g)...)
			row = append(row, pairCell(d.publishedPair(metric, g)))
		}
		t.add(row...)
	}
	s.Blocks = []block{{Table: t}}
	return s
}

// leadCells are the subject with the lowest mean in a metric, and those not significantly different
// from it.
func (d *digest) leadCells(metric string, g *group) []string {
	l, ok := d.lead(metric, g)
	switch {
	case ok:
		return []string{l.first.subject + " " + sig(l.value.mean), orElse(list(l.tied), "none")}
	case metric == result.MetricCV && slices.ContainsFunc(g.cells, func(c *cell) bool { return c.perMessage.known() }):
		return []string{stat.TooShort, absent}
	}
	return []string{absent, absent}
}

// pairCell formats a comparison with its interval and verdict.
func pairCell(v result.Comparison, ok bool) string {
	if !ok || tooShort(v) {
		return map[bool]string{true: stat.TooShort, false: absent}[ok]
	}
	return fmt.Sprintf("%s (%s), %s", times(v.Ratio), between(v.Low, v.High), v.Verdict)
}

// correction says over how many comparisons the verdicts in a metric are corrected.
func (d *digest) correction(metric string) string {
	n := 0
	for _, c := range d.Comparisons {
		if c.Metric == metric && c.High != 0 {
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("Nothing was tested for %s.", d.metricNoun(metric))
	}
	return fmt.Sprintf("Verdicts on %s have Holm's correction for %s: at most one run in 20 has a false \"different\" among them.",
		d.metricNoun(metric), plural(n, "comparison", "comparisons"))
}

// metricNoun names a metric within a sentence.
func (d *digest) metricNoun(metric string) string {
	switch metric {
	case result.MetricCV:
		return "the variation of CPU"
	case result.MetricRate:
		return d.Plan.Units() + " per second"
	case result.MetricLatency:
		return "the mean time of an operation"
	}
	return "CPU per " + d.unit()
}
