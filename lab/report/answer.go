package report

import (
	"fmt"
	"strings"

	"weir/lab/result"
)

// The words of a verdict.
const (
	different  = "different"
	equivalent = "equivalent"
	undecided  = "undecided"
)

// answer is the two sentences at the top. They claim an order only where a verdict does: the lowest mean is
// named along with every subject that was not shown to differ from it.
func (d *digest) answer() []string {
	switch {
	case len(d.Trials) == 0:
		return []string{"No trial was run, so there is no answer yet.", "The command at the end of this report runs them."}
	case d.accepted() == 0:
		return []string{fmt.Sprintf("There is no answer: %s, and none may count.", plural(len(d.Trials), "trial was run", "trials were run")),
			"The section on refusals gives the reasons; most go away on a machine with nothing else to do."}
	case d.asPublished():
		return d.publishedAnswer()
	}
	return []string{d.cpuSentence(), d.stabilitySentence()}
}

// cpuSentence says who costs least, and what the two published paradigms cost relative to each other.
func (d *digest) cpuSentence() string {
	groups := d.busiest()
	s := fmt.Sprintf("At %s %s", conns(groups[0].connections), d.lowest(metricCPU, "CPU per message", groups))
	if pair := d.paradigms(groups); pair != "" {
		s += "; " + pair
	}
	return s + "."
}

func (d *digest) stabilitySentence() string {
	groups := d.busiest()
	window := short(d.Plan.WindowMS) + " ms"
	n, differ := 0, 0
	for _, g := range groups {
		for _, c := range d.family(metricCV, g) {
			n++
			if c.Verdict == different {
				differ++
			}
		}
	}
	switch {
	case n == 1 && differ == 0:
		return fmt.Sprintf("In stability, the variation of that CPU over windows of %s, the two were not shown to differ.", window)
	case n > 0 && differ == 0:
		return fmt.Sprintf("In stability, the variation of that CPU over windows of %s, no two subjects were shown to differ in any of %d comparisons.", window, n)
	}
	return fmt.Sprintf("Over windows of %s, %s.", window, d.lowest(metricCV, "variation of CPU", groups))
}

// lead is the cell with the lowest mean in a group and those not shown to differ from it.
type lead struct {
	pattern string
	first   *cell
	value   estimate
	tied    []string
	rivals  int // cells that have a value, beside the first
}

func (c *cell) metric(metric string) estimate {
	if metric == metricCV {
		return c.cv
	}
	return c.perMessage
}

// servers is the cells with a value for a metric. A floor is no server: it stands aside where there are others.
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
	l := lead{pattern: g.pattern}
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
		if v, ok := d.versus(metric, g, c.subject, l.first.subject); !ok || v.Verdict != different {
			l.tied = append(l.tied, c.subject)
		}
	}
	return l, true
}

// lowest is "the lowest mean CPU per message was that of a (staggered: 8.31 µs, not shown to differ from b; …)".
func (d *digest) lowest(metric, what string, groups []*group) string {
	var names []string
	by := map[string][]string{}
	for _, g := range groups {
		l, ok := d.lead(metric, g)
		if !ok {
			continue
		}
		if by[l.first.subject] == nil {
			names = append(names, l.first.subject)
		}
		by[l.first.subject] = append(by[l.first.subject], l.phrase(metric))
	}
	if len(names) == 0 {
		return "nothing was measured of the " + what
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("that of %s (%s)", n, strings.Join(by[n], "; "))
	}
	return "the lowest mean " + what + " was " + list(names)
}

func (l lead) phrase(metric string) string {
	s := patternName(l.pattern) + ": " + sig(l.value.mean)
	if metric == metricCPU {
		s += " µs"
	}
	switch {
	case l.rivals == 0:
		return s + ", alone there"
	case len(l.tied) == l.rivals && l.rivals > 1:
		return s + ", not shown to differ from any other"
	case len(l.tied) > 2:
		return fmt.Sprintf("%s, not shown to differ from %d others", s, len(l.tied))
	case len(l.tied) > 0:
		return s + ", not shown to differ from " + list(l.tied)
	}
	return s
}

// paradigms compares the published pair of paradigms, goroutines against processes, when both took part.
func (d *digest) paradigms(groups []*group) string {
	c, goLang := d.firstOf(publishedC), d.firstOf(publishedGo)
	if c == "" || goLang == "" {
		return ""
	}
	var said []string
	for _, g := range groups {
		if v, ok := d.versus(metricCPU, g, goLang, c); ok {
			said = append(said, verdictPhrase(v)+" "+patternName(g.pattern))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("relative to a process per connection in C (%s = 1), a goroutine per connection (%s) cost %s", c, goLang, list(said))
}

// verdictPhrase is a ratio that says no more than its verdict: "1.62 times (1.50 to 1.74)".
func verdictPhrase(v result.Comparison) string {
	s := fmt.Sprintf("%s times (%s", times(v.Ratio), between(v.Low, v.High))
	if v.Pairs == 1 {
		s = fmt.Sprintf("%s times (a single pair", times(v.Ratio))
	}
	switch v.Verdict {
	case different:
		return s + ")"
	case equivalent:
		return s + ", equivalent)"
	}
	return s + ", undecided)"
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
	differing, refused := d.twinsDiffering(), len(d.Trials)-d.accepted()
	add(differing > 0, "The lab called a subject different from its own twin in %s. Measure again before believing differences of that size.", plural(differing, "comparison", "comparisons"))
	add(d.Finished.IsZero(), "This run is not complete: it was interrupted or is still going on. --resume continues it.")
	add(d.Plan.Quick, "This was a quick run: few subjects, short trials. Without --quick it takes longer and decides more.")
	add(refused > 0 && d.accepted() > 0, "%s of %s refused and not counted; the reasons stand under Refusals.", count(refused), plural(len(d.Trials), "trial was", "trials were"))
	for _, s := range d.Skipped {
		add(true, "%s did not take part: %s", s.Subject, s.Reason)
	}
	for _, s := range d.Subjects {
		add(s.Elsewhere, "%s ran on another machine: its CPU was not measured.", s.Name)
	}
	return out
}

func (d *digest) twinsDiffering() int {
	n := 0
	for _, c := range d.Comparisons {
		if c.Twin && c.Verdict == different {
			n++
		}
	}
	return n
}
