package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// nearlyAll is the share of the requests that a subject must answer to keep up with a rate.
const nearlyAll = 0.99

// sweep returns the groups of requests over the most connections, by rate. Their loads differ only
// in the rate: those with other arrivals, connections, keep-alive or TLS than the first one are
// excluded.
func (d *digest) sweep() []*group {
	var out []*group
	for _, g := range d.groups {
		l := d.loadOf(g.load)
		if g.pattern != result.Closed && l.Rate > 0 && l.Requests.Filters == 0 && !l.Requests.Gzip && g.connections == slices.Max(d.connections(g.load)) && (len(out) == 0 || d.arrivesAlike(out[0], g)) {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int { return cmp.Compare(d.attempted(a), d.attempted(b)) })
	return out
}

// arrivesAlike reports whether the requests of two groups arrive in the same pattern and use
// connections in the same way.
func (d *digest) arrivesAlike(a, b *group) bool {
	p, q := d.loadOf(a.load).Requests, d.loadOf(b.load).Requests
	return a.pattern == b.pattern && a.connections == b.connections && p.NoKeepAlive == q.NoKeepAlive && p.TLS == q.TLS
}

// sweepSection has the paper's figures 4 and 5, and the cost of the responses.
func (d *digest) sweepSection() section {
	s := section{ID: "attempted", Title: "Attempted against successful requests",
		How: "Requests were due at a constant rate (open loop). A successful request has a complete and correct response in the window, before the client's timeout. A server that keeps up stays on the dashed line. Latency counts from the time at which a request was due. Both scales of the first figure are logarithmic."}
	groups := d.sweep()
	if len(groups) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, text("%s", d.heldSentence(groups)))
	if slices.ContainsFunc(d.Subjects, func(s result.Subject) bool { return s.Paradigm == "process network" }) {
		s.Blocks = append(s.Blocks, text("%s", publishedPipes))
	}
	if len(groups) > 1 {
		s.Blocks = append(s.Blocks, block{Figures: d.sweepFigures(groups)})
	}
	for _, t := range d.sweepTables(groups) {
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t})
		}
	}
	if !slices.ContainsFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(g.cells, func(c *cell) bool { return c.failedShare() > 0 })
	}) {
		s.Blocks = append(s.Blocks, text("No request failed at any of these rates."))
	}
	return s
}

// sweepTables returns the tables of the sweep; some may be empty.
func (d *digest) sweepTables(groups []*group) []*table {
	return []*table{
		d.acrossRates(groups, "Answered of the attempted requests", func(c *cell) string { return percent(c.answered()) }),
		d.acrossRates(groups, "CPU, µs per answered request", func(c *cell) string { return sig(c.perMessage.mean) }),
		d.acrossRates(groups, "Time to the answer, p50 / p99, ms", func(c *cell) string { return sig(c.ms(p50)) + " / " + sig(c.ms(p99)) }),
		d.acrossRates(groups, "Errors, including the warm-ups", (*cell).errorKinds),
	}
}

// acrossRates is a table of the subjects by attempted rate, without rows that have no value.
func (d *digest) acrossRates(groups []*group, caption string, say func(*cell) string) *table {
	t := &table{Caption: caption, Align: "l", Head: []string{"Subject"}}
	for _, g := range groups {
		t.Head, t.Align = append(t.Head, short(d.attempted(g))+"/s"), t.Align+"r"
	}
	for _, subject := range d.subjects {
		row, says := []string{subject}, false
		for _, g := range groups {
			cell := absent
			if c := g.cell(subject); c != nil && len(c.trials) > 0 {
				cell = orElse(say(c), absent)
			}
			row, says = append(row, cell), says || cell != absent
		}
		if says {
			t.add(row...)
		}
	}
	return t
}

// highestRateHeld returns the highest rate up to which a subject answered nearly all requests (0:
// none), and whether it failed at a higher one.
func (d *digest) highestRateHeld(groups []*group, subject string) (rate float64, gaveOut bool) {
	for _, g := range groups {
		c := g.cell(subject)
		if c == nil || len(c.trials) == 0 {
			continue
		}
		if !(c.answered() >= nearlyAll) {
			return rate, true
		}
		rate = d.attempted(g)
	}
	return rate, false
}

// heldSentence states the rate up to which each subject kept up.
func (d *digest) heldSentence(groups []*group) string {
	gave, rest := map[float64][]string{}, map[float64][]string{}
	all := 0
	for _, subject := range d.subjects {
		if !slices.ContainsFunc(groups, func(g *group) bool { c := g.cell(subject); return c != nil && len(c.trials) > 0 }) {
			continue
		}
		all++
		into := rest
		rate, gaveOut := d.highestRateHeld(groups, subject)
		if gaveOut {
			into = gave
		}
		into[rate] = append(into[rate], subject)
	}
	if all == 0 {
		return "No trial at these rates was accepted."
	}
	var said []string
	for _, rate := range sortedKeys(gave) {
		what := "not even at the lowest rate"
		if rate > 0 {
			what = "up to " + short(rate) + "/s"
		}
		said = append(said, "by "+someOf(gave[rate], all)+" "+what)
	}
	for _, rate := range sortedKeys(rest) {
		said = append(said, "by "+someOf(rest[rate], all)+" up to "+short(rate)+"/s, the highest rate tried")
	}
	return fmt.Sprintf("%s of the requests were answered %s.", percentWhole(nearlyAll), strings.Join(said, "; "))
}

// someOf lists up to three of all servers by name.
func someOf(names []string, all int) string {
	switch n := len(names); {
	case n > 3 && n == all:
		return fmt.Sprintf("all %d servers", n)
	case n > 3:
		return fmt.Sprintf("%d servers (%s and others)", n, names[0])
	}
	return list(names)
}

func sortedKeys(m map[float64][]string) []float64 {
	var keys []float64
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func percentWhole(v float64) string { return short(100*v) + " %" }

func (d *digest) sweepFigures(groups []*group) []*figure.Figure {
	var rates []float64
	for _, g := range groups {
		rates = append(rates, d.attempted(g))
	}
	x := figure.Axis{Label: "attempted requests/s", Log: true, At: rates}
	single := func(v float64) estimate { return estimate{v, math.NaN(), math.NaN(), 1} }
	figures := []*figure.Figure{
		d.overRates(groups, "attempted", "Successful against attempted requests", x, figure.Axis{Label: "successful requests/s", Log: true}, (*cell).rate, rates),
		d.overRates(groups, "attempted-errors", "Failed requests", x, figure.Axis{Label: "% of the attempted", Zero: true}, func(c *cell) estimate { return single(100 * c.failedShare()) }, nil),
		d.overRates(groups, "attempted-p99", "99th percentile of the time to the answer", x, figure.Axis{Label: "p99, ms", Log: true}, func(c *cell) estimate { return single(c.ms(p99)) }, nil),
		d.overRates(groups, "attempted-cpu", "CPU per answered request", x, figure.Axis{Label: "CPU, µs per request", Zero: true}, func(c *cell) estimate { return c.perMessage }, nil),
	}
	return figures
}

// overRates draws a figure of every subject against the attempted rate, with a dashed diagonal if
// one is given.
func (d *digest) overRates(groups []*group, name, title string, x, y figure.Axis, of func(*cell) estimate, diagonal []float64) *figure.Figure {
	c := figure.Lines{Name: name, Title: title, Desc: "One curve for each subject.", X: x, Y: y}
	if len(diagonal) > 0 {
		all := figure.Curve{Name: "all answered", Quiet: true}
		for _, r := range diagonal {
			all.Points = append(all.Points, figure.XY{X: r, Y: r})
		}
		c.Curves = append(c.Curves, all)
	}
	for i, subject := range d.subjects {
		curve := figure.Curve{Name: subject, Style: i}
		for _, g := range groups {
			if x := g.cell(subject); x != nil && len(x.trials) > 0 {
				e := of(x)
				curve.Points = append(curve.Points, figure.XY{X: d.attempted(g), Y: e.mean,
					Hover: fmt.Sprintf("%s, %s attempted/s: %s, %s answered", subject, short(d.attempted(g)), e, percent(x.answered()))})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Draw()
}
