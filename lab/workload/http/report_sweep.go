package http

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// nearlyAll is the share of the requests that a subject must answer to keep up with a rate.
const nearlyAll = 0.99

// sweep returns the groups of requests over the most connections, by rate. Their loads differ only
// in the rate: those with other arrivals, connections, keep-alive or TLS than the first one are
// excluded.
func (d digest) sweep() []*report.Group {
	var out []*report.Group
	for _, g := range d.Groups {
		l := d.LoadOf(g.Load)
		if g.Pattern != result.Closed && l.Rate > 0 && l.Requests.Filters == 0 && !l.Requests.Gzip && g.Connections == slices.Max(d.ConnectionsOf(g.Load)) && (len(out) == 0 || d.arrivesAlike(out[0], g)) {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b *report.Group) int { return cmp.Compare(d.attempted(a), d.attempted(b)) })
	return out
}

// arrivesAlike reports whether the requests of two groups arrive in the same pattern and use
// connections in the same way.
func (d digest) arrivesAlike(a, b *report.Group) bool {
	p, q := d.LoadOf(a.Load).Requests, d.LoadOf(b.Load).Requests
	return a.Pattern == b.Pattern && a.Connections == b.Connections && p.NoKeepAlive == q.NoKeepAlive && p.TLS == q.TLS &&
		p.Path == q.Path && p.Mix == q.Mix && p.HTTP2 == q.HTTP2 && p.Streams == q.Streams
}

// sweepSection has the paper's figures 4 and 5, and the cost of the responses.
func (d digest) sweepSection() report.Section {
	s := report.Section{ID: "attempted", Title: "Attempted against successful requests",
		How: "Requests were due at a constant rate (open loop). A successful request has a complete and correct response in the window, before the client's timeout. A server that keeps up stays on the dashed line. Latency counts from the time at which a request was due. Both scales of the first figure are logarithmic."}
	groups := d.sweep()
	if len(groups) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, report.Block{Text: d.heldSentence(groups)})
	if slices.ContainsFunc(d.Subjects, func(s result.Subject) bool { return s.Paradigm == "process network" }) {
		s.Blocks = append(s.Blocks, report.Block{Text: publishedPipes})
	}
	if len(groups) > 1 {
		s.Blocks = append(s.Blocks, report.Block{Figures: d.sweepFigures(groups)})
	}
	for _, t := range d.sweepTables(groups) {
		s.Blocks = append(s.Blocks, report.Block{Table: t})
	}
	if !slices.ContainsFunc(groups, func(g *report.Group) bool {
		return slices.ContainsFunc(g.Cells, func(c *report.Cell) bool { return failedShare(c) > 0 })
	}) {
		s.Blocks = append(s.Blocks, report.Paragraph("No request failed at any of these rates."))
	}
	return s
}

// sweepTables returns the tables of the sweep; some may be empty.
func (d digest) sweepTables(groups []*report.Group) []*report.Table {
	return []*report.Table{
		d.acrossRates(groups, "Answered of the attempted requests", func(c *report.Cell) string { return format.Percent(Answered(c)) }),
		d.acrossRates(groups, "CPU, µs per answered request", func(c *report.Cell) string { return format.Sig(c.PerMessage.Mean) }),
		d.acrossRates(groups, "Time to the answer, p50 / p99, ms", func(c *report.Cell) string {
			return format.Sig(c.Millis(report.P50)) + " / " + format.Sig(c.Millis(report.P99))
		}),
		d.acrossRates(groups, "Errors, including the warm-ups", ErrorKinds),
	}
}

// acrossRates is a table of the subjects by attempted rate, without rows that have no value.
func (d digest) acrossRates(groups []*report.Group, caption string, say func(*report.Cell) string) *report.Table {
	t := &report.Table{Caption: caption, Align: "l", Head: []string{"Subject"}}
	for _, g := range groups {
		t.AddColumn(format.Short(d.attempted(g))+"/s", 'r')
	}
	for _, subject := range d.Names {
		row, says := []string{subject}, false
		for _, g := range groups {
			cell := format.Absent
			if c := g.MeasuredCell(subject); c != nil {
				cell = cmp.Or(say(c), format.Absent)
			}
			row, says = append(row, cell), says || cell != format.Absent
		}
		if says {
			t.Add(row...)
		}
	}
	return t
}

// highestRateHeld returns the highest rate up to which a subject answered nearly all requests (0:
// none), and whether it failed at a higher one. ok is false if it was not measured.
func (d digest) highestRateHeld(groups []*report.Group, subject string) (rate float64, gaveOut, ok bool) {
	for _, g := range groups {
		c := g.MeasuredCell(subject)
		if c != nil && !(Answered(c) >= nearlyAll) {
			return rate, true, true
		}
		if c != nil {
			rate, ok = d.attempted(g), true
		}
	}
	return rate, false, ok
}

// heldSentence states the rate up to which each subject kept up.
func (d digest) heldSentence(groups []*report.Group) string {
	gave, rest := map[float64][]string{}, map[float64][]string{}
	all := 0
	for _, subject := range d.Names {
		switch rate, gaveOut, ok := d.highestRateHeld(groups, subject); {
		case !ok:
			continue
		case gaveOut:
			gave[rate] = append(gave[rate], subject)
		default:
			rest[rate] = append(rest[rate], subject)
		}
		all++
	}
	if all == 0 {
		return "No trial at these rates was accepted."
	}
	var said []string
	for _, rate := range slices.Sorted(maps.Keys(gave)) {
		what := "not even at the lowest rate"
		if rate > 0 {
			what = "up to " + format.Short(rate) + "/s"
		}
		said = append(said, "by "+someOf(gave[rate], all)+" "+what)
	}
	for _, rate := range slices.Sorted(maps.Keys(rest)) {
		said = append(said, "by "+someOf(rest[rate], all)+" up to "+format.Short(rate)+"/s, the highest rate tried")
	}
	return fmt.Sprintf("%s %% of the requests were answered %s.", format.Short(100*nearlyAll), strings.Join(said, "; "))
}

// someOf lists up to three of all servers by name.
func someOf(names []string, all int) string {
	switch n := len(names); {
	case n > 3 && n == all:
		return fmt.Sprintf("all %d servers", n)
	case n > 3:
		return fmt.Sprintf("%d servers (%s and others)", n, names[0])
	}
	return format.List(names)
}

func (d digest) sweepFigures(groups []*report.Group) []*figure.Figure {
	var rates []float64
	all := figure.Curve{Name: "all answered", Quiet: true}
	for _, g := range groups {
		r := d.attempted(g)
		rates, all.Points = append(rates, r), append(all.Points, figure.XY{X: r, Y: r})
	}
	draw := func(name, title string, y figure.Axis, of func(*report.Cell) report.Estimate, curves ...figure.Curve) *figure.Figure {
		return figure.Lines{Name: name, Title: title, Desc: "One curve for each subject.", X: figure.Axis{Label: "attempted requests/s", Log: true, At: rates}, Y: y,
			Curves: append(curves, d.Curves(func(g *report.Group, c *report.Cell) (figure.XY, bool) {
				e, at := of(c), d.attempted(g)
				return figure.XY{X: at, Y: e.Mean, Hover: fmt.Sprintf("%s, %s attempted/s: %s, %s answered", c.Subject, format.Short(at), e, format.Percent(Answered(c)))}, slices.Contains(groups, g)
			})...)}.Draw()
	}
	single := func(v float64) report.Estimate {
		return report.Estimate{Mean: v, Low: math.NaN(), High: math.NaN(), N: 1}
	}
	return []*figure.Figure{
		draw("attempted", "Successful against attempted requests", figure.Axis{Label: "successful requests/s", Log: true}, (*report.Cell).Rate, all),
		draw("attempted-errors", "Failed requests", figure.Axis{Label: "% of the attempted", Zero: true}, func(c *report.Cell) report.Estimate { return single(100 * failedShare(c)) }),
		draw("attempted-p99", "99th percentile of the time to the answer", figure.Axis{Label: "p99, ms", Log: true}, func(c *report.Cell) report.Estimate { return single(c.Millis(report.P99)) }),
		draw("attempted-cpu", "CPU per answered request", figure.Axis{Label: "CPU, µs per request", Zero: true}, func(c *report.Cell) report.Estimate { return c.PerMessage }),
	}
}
