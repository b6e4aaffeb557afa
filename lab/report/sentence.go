package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// cpuSentence says who costs least under the first arrival pattern, what the two published
// paradigms cost relative to each other there, and whether another pattern turns that round.
func (d *digest) cpuSentence() string {
	groups := d.busiest()
	g, l := d.firstLead(result.MetricCPU, groups)
	if g == nil {
		return fmt.Sprintf("At %s no CPU was measured.", conns(groups[0].connections))
	}
	return fmt.Sprintf("At %s, %s, %s cost least CPU (%s µs a %s)%s.", conns(g.connections), patternName(g.pattern), l.names(), sig(l.value.mean), d.unit(),
		d.pairClause(result.MetricCPU, g, groups))
}

// stabilitySentence says the same of the variation of CPU.
func (d *digest) stabilitySentence() string {
	groups := d.busiest()
	g, l := d.firstLead(result.MetricCV, groups)
	if g == nil {
		return d.tooShortSentence(groups)
	}
	return fmt.Sprintf("Over windows of %s ms, %s, %s varied least (σ/µ %s)%s.", short(d.Plan.WindowMS), patternName(g.pattern), l.names(), sig(l.value.mean),
		d.pairClause(result.MetricCV, g, groups))
}

func (d *digest) tooShortSentence(groups []*group) string {
	most := 0
	for _, g := range groups {
		for _, c := range g.cells {
			most = max(most, c.spread.DF)
		}
	}
	return fmt.Sprintf("How steady that CPU is, this run is %s: %s at most, and %d are needed; longer trials or more blocks give them.",
		stat.TooShort, plural(most, "degree of freedom", "degrees of freedom"), stat.LeastDF)
}

// lead is the cell with the lowest value in a group and those not shown to differ from it.
type lead struct {
	first  *cell
	value  estimate
	tied   []string
	rivals int // cells that have a value, beside the first
}

func (c *cell) metric(metric string) estimate {
	if metric == result.MetricCV {
		return c.cv
	}
	return c.perMessage
}

// servers is the cells with a value for a metric. A floor is no server: it stands aside where there
// are others.
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

func (d *digest) lead(metric string, g *group) (lead, bool) {
	var l lead
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
		if v, ok := d.versus(metric, g, c.subject, l.first.subject); !ok || v.Verdict != result.Different {
			l.tied = append(l.tied, c.subject)
		}
	}
	return l, true
}

// firstLead is the lead in the first group that has one.
func (d *digest) firstLead(metric string, groups []*group) (*group, lead) {
	for _, g := range groups {
		if l, ok := d.lead(metric, g); ok {
			return g, l
		}
	}
	return nil, lead{}
}

// names is "a", or "a, not told from b,": from those that were not shown to differ from it.
func (l lead) names() string {
	switch {
	case l.rivals == 0:
		return l.first.subject + ", alone there,"
	case len(l.tied) == l.rivals && l.rivals > 1:
		return l.first.subject + ", not told from any other,"
	case len(l.tied) > 1:
		return fmt.Sprintf("%s, not told from %d others,", l.first.subject, len(l.tied))
	case len(l.tied) > 0:
		return l.first.subject + ", not told from " + list(l.tied) + ","
	}
	return l.first.subject
}

// pairClause compares the published pair of paradigms, goroutines against processes, in one group,
// and says whether another pattern turns that round. It is empty where one of them did not take
// part.
func (d *digest) pairClause(metric string, g *group, groups []*group) string {
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	v, ok := d.versus(metric, g, goLang, c)
	if !ok || c == "" || goLang == "" {
		return ""
	}
	verb := map[bool]string{true: "varied", false: "cost"}[metric == result.MetricCV]
	said := d.pairSaid(v, verb)
	var others, turned []string
	for _, other := range groups {
		w, ok := d.versus(metric, other, goLang, c)
		if !ok || other == g {
			continue
		}
		others = append(others, other.pattern)
		if w.Verdict == result.Different && (v.Verdict != result.Different || (w.Ratio > 1) != (v.Ratio > 1)) {
			turned = append(turned, fmt.Sprintf("%s (%s)", patternName(other.pattern), times(w.Ratio)))
		}
	}
	switch {
	case len(turned) > 0 && v.Verdict == result.Different:
		said += "; the other way round " + list(turned)
	case len(turned) > 0:
		said += "; different " + list(turned)
	case len(others) > 0 && v.Verdict == result.Different:
		said += "; no other pattern was seen to turn it"
	}
	return "; " + said
}

// pairSaid is a comparison in words that say no more than its verdict: "b cost 1.62 times as much
// as a (1.50 to 1.74)".
func (d *digest) pairSaid(v result.Comparison, verb string) string {
	switch {
	case v.Verdict == result.Different:
		return fmt.Sprintf("%s %s %s times as much as %s (%s)", v.A, verb, times(v.Ratio), v.B, between(v.Low, v.High))
	case v.Verdict == result.Equivalent:
		return fmt.Sprintf("%s and %s %s the same within %s %%", v.A, v.B, verb, short(100*d.Plan.Margin))
	case tooShort(v):
		return fmt.Sprintf("%s against %s is %s", v.A, v.B, stat.TooShort)
	}
	return fmt.Sprintf("%s against %s is undecided (%s)", v.A, v.B, between(v.Low, v.High))
}

// tooShort says whether a comparison rests on too few windows for its ratio to mean anything.
func tooShort(v result.Comparison) bool { return strings.HasPrefix(v.Warning, stat.TooShort) }

// verdictWord is the verdict, or that the trials were too short for one.
func verdictWord(v result.Comparison) string {
	if tooShort(v) {
		return stat.TooShort
	}
	return v.Verdict
}

// ratioOf is the ratio, where there is one that means something.
func ratioOf(v result.Comparison) string {
	if tooShort(v) {
		return absent
	}
	return times(v.Ratio)
}

// ratioWithin is the ratio and the interval that its verdict rests on, where there are such: "1.7
// (1.5 to 1.9)".
func ratioWithin(v result.Comparison) string {
	if tooShort(v) || v.High == 0 {
		return ratioOf(v)
	}
	return fmt.Sprintf("%s (%s)", times(v.Ratio), between(v.Low, v.High))
}

// detailSection is the two sentences by arrival pattern. The published pair has a section of its
// own instead.
func (d *digest) detailSection() section {
	s := section{ID: "detail", Title: "The answer by arrival pattern",
		How: "What a server is not told from was not shown to differ from it. " + d.correction(result.MetricCPU) + " " + d.correction(result.MetricCV)}
	groups := d.busiest()
	if len(groups) == 0 || d.accepted() == 0 || d.asPublished() {
		return s
	}
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	t := &table{Caption: upper(conns(groups[0].connections)), Align: "lllllll",
		Head: []string{"Arrivals", "Cost least, µs per message", "Not told from", goLang + " / " + c, "Varied least, σ/µ", "Not told from, in σ/µ", goLang + " / " + c + ", σ/µ"}}
	for _, g := range groups {
		row := []string{patternName(g.pattern)}
		for _, metric := range []string{result.MetricCPU, result.MetricCV} {
			row = append(row, d.leadCells(metric, g)...)
			v, ok := d.versus(metric, g, goLang, c)
			row = append(row, pairCell(v, ok))
		}
		t.add(row...)
	}
	s.Blocks = []block{{Table: t.trim()}}
	return s
}

// leadCells is the first of a metric and what it is not told from.
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

func pairCell(v result.Comparison, ok bool) string {
	if !ok || tooShort(v) {
		return map[bool]string{true: stat.TooShort, false: absent}[ok]
	}
	return fmt.Sprintf("%s (%s), %s", times(v.Ratio), between(v.Low, v.High), v.Verdict)
}

// correction says for how many comparisons the verdicts in a metric are corrected.
func (d *digest) correction(metric string) string {
	n := 0
	for _, c := range d.Comparisons {
		if c.Metric == metric && c.High != 0 {
			n++
		}
	}
	if n == 0 {
		return fmt.Sprintf("Nothing was tested in %s.", d.metricNoun(metric))
	}
	return fmt.Sprintf("Verdicts on %s are corrected for all %s of the run together: at most one run in 20 holds even one false \"different\" among them.",
		d.metricNoun(metric), plural(n, "comparison", "comparisons"))
}

func (d *digest) metricNoun(metric string) string {
	switch metric {
	case result.MetricCV:
		return "the variation of CPU"
	case result.MetricRate:
		return d.Plan.Units() + " a second"
	case result.MetricLatency:
		return "the mean time of an operation"
	}
	return "CPU per " + d.unit()
}
