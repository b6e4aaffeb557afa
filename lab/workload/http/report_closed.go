package http

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// atCeiling is the share of its ceiling from which on the load, not the server, sets a rate.
const atCeiling = 0.9

// closedSection shows the rates of closed loops, with the ceiling that the sleeps set.
func (d digest) closedSection() report.Section {
	s := report.Section{ID: "closed", Title: "Requests per second in a closed loop, and the limit of the load",
		How: "A connection sends its next request when it has the response, so the server and its waits set the rate. If requests sleep, the sleeps set a ceiling. The ceiling is computed, and so is the time for a number of requests. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		s.Blocks = append(s.Blocks, report.Block{Head: format.Upper(d.Caption(g))}, report.Block{Text: d.ceilingSentence(g)},
			report.Figures(d.loopFigure(g)), report.Block{Table: d.loopTable(g)}, d.GeneratorBound(g))
	}
	return s
}

// floored reports whether only the sleeps of a group's load set its rates.
func (d digest) floored(g *report.Group) bool {
	low, _ := g.Rates()
	return low >= atCeiling*d.LoadOf(g.Load).Requests.Ceiling(g.Connections)
}

// ceilingSentence states the ceiling of a closed loop, the rates, and whether the load can rank
// servers.
func (d digest) ceilingSentence(g *report.Group) string {
	q := d.LoadOf(g.Load).Requests
	low, high := g.Rates()
	ceiling := q.Ceiling(g.Connections)
	came := fmt.Sprintf("The servers reached %s requests/s", fromTo(low, high))
	switch {
	case math.IsNaN(low):
		return "No trial of this load was accepted."
	case math.IsInf(ceiling, 1):
		return came + "; this load has no ceiling."
	}
	s := fmt.Sprintf("One request in %d sleeps %s ms: over %s the sleeps allow at most %s requests/s with any server.", q.SleepEvery, format.Count(q.SleepMS), format.Connections(g.Connections), format.Short(ceiling))
	if floor := q.Floor(g.Connections); floor > 0 {
		s += fmt.Sprintf(" %s requests take at least %s s.", format.Count(q.Count), format.Short(floor.Seconds()))
	}
	s += fmt.Sprintf(" %s, %s %% of that", came, spread(format.Fixed(100*low/ceiling, 1), format.Fixed(100*high/ceiling, 1)))
	if d.isPublished(g) {
		s += "; the published servers reached " + publishedRates
	}
	if d.floored(g) {
		return s + ". This load measures its own sleeps: it cannot rank servers." + d.rateVerdicts(g)
	}
	return s + ": this load can rank the servers." + d.rateVerdicts(g)
}

// fromTo is a range of rates, or one rate if both ends are written alike.
func fromTo(low, high float64) string {
	return spread(format.Rate(low), format.Rate(high))
}

func spread(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

// rateVerdicts counts the verdicts on the rates of a group.
func (d digest) rateVerdicts(g *report.Group) string {
	var said format.Tally
	pairs := d.Family(result.MetricRate, g)
	for _, v := range pairs {
		said.Add(v.Verdict, 1)
	}
	if len(pairs) == 0 {
		return ""
	}
	slices.Sort(said.Words)
	return fmt.Sprintf(" Of %s compared by requests/s: %s.", format.Plural(len(pairs), "pair", "pairs"), strings.Join(said.Phrases("%s in %s"), ", "))
}

func (d digest) loopTable(g *report.Group) *report.Table {
	t, cells, q := d.RateTable(g), g.ByRate(), d.LoadOf(g.Load).Requests
	column := func(at int, head string, of func(*report.Cell) string) {
		t.InsertColumn(at, head, 'r', func(row int) string { return of(cells[row]) })
	}
	t.InsertColumn(len(t.Head), "Errors", 'l', func(row int) string { return ErrorKinds(cells[row]) })
	if d.isPublished(g) {
		column(5, "Published, s", func(c *report.Cell) string { return format.Fixed(publishedOf(c.Subject).seconds, 2) })
		column(5, "Published requests/s", func(c *report.Cell) string { return format.Fixed(publishedOf(c.Subject).rate, 2) })
	}
	if q.Count > 0 {
		column(5, "Floor, s", func(*report.Cell) string { return format.Fixed(q.Floor(g.Connections).Seconds(), 2) })
		column(5, "Seconds for "+format.Count(q.Count), func(c *report.Cell) string { return format.Fixed(float64(q.Count)/c.Rate().Mean, 2) })
	}
	if ceiling := q.Ceiling(g.Connections); !math.IsInf(ceiling, 1) {
		column(2, "Of the ceiling", func(c *report.Cell) string { return format.Percent(c.Rate().Mean / ceiling) })
	}
	return t.Trim()
}

// loopFigure shows the rates of a group, with a line at the ceiling if it is near.
func (d digest) loopFigure(g *report.Group) *figure.Figure {
	c := figure.Rows{Name: "requests-" + d.Tag(g), Title: "Requests/s: " + d.Caption(g), Desc: "One row for each subject, with its 95 % interval.", X: figure.Axis{Label: "requests/s", Zero: true}}
	_, high := g.Rates()
	if ceiling := d.LoadOf(g.Load).Requests.Ceiling(g.Connections); ceiling <= 4*high {
		c.Mark, c.X.Label = []float64{ceiling}, fmt.Sprintf("requests/s; the line is the ceiling, %s", format.Short(ceiling))
	}
	for _, x := range g.ByRate() {
		e := x.Rate()
		dot := figure.SeriesDot(x.Index, e.Mean, fmt.Sprintf("%s: %s requests/s", x.Subject, e))
		dot.Low, dot.High = e.Low, e.High
		row := figure.Row{Name: x.Subject + ": " + format.Rate(e.Mean), Role: figure.Series(x.Index), Dots: []figure.Dot{dot}}
		if was := publishedOf(x.Subject).rate; was > 0 && d.isPublished(g) {
			row.Name += ", published " + format.Rate(was)
			row.Dots = append(row.Dots, figure.Dot{X: was, Shape: figure.Circle, Role: figure.Muted, Hollow: true, Hover: fmt.Sprintf("%s, published: %s requests/s", x.Subject, format.Short(was))})
		}
		c.Rows = append(c.Rows, row)
	}
	return c.Draw()
}

// publishedRun is a result of article 001: requests per second, and seconds for all.
type publishedRun struct{ rate, seconds float64 }

// publishedOf returns the result in "Concurrency in modern programming languages: Golang" of the
// server that does the same as a subject; NaN if there is none.
func publishedOf(subject string) publishedRun {
	switch subject {
	case "http-go-raw":
		return publishedRun{494.86, 20.208}
	case "http-go":
		return publishedRun{494.27, 20.232}
	}
	return publishedRun{math.NaN(), math.NaN()}
}

// publishedRates is the range of rates that the series of articles published for its servers.
const publishedRates = "494 to 499 in the article"

// isPublished reports whether a load is that of the article: ab -c 100 -n 10000, one request in ten
// sleeps two seconds.
func (d digest) isPublished(g *report.Group) bool {
	l := d.LoadOf(g.Load)
	q := l.Requests
	return l.Rate == 0 && q.NoKeepAlive && q.Count == 10_000 && g.Connections == 100 && q.SleepMS == 2000 && q.SleepEvery == 10
}

// publishedPipes summarizes figures 4 and 5 of paper 004, which have no numbers.
const publishedPipes = "As published (\"Serving Web Content with Dynamic Process Networks in Go\", figures 4 and 5, a 4 KB file, server and clients on machines of their own): " +
	"Apache answered all requests; Go's http package of 2011 stopped at just under a third of the rate, at a fixed limit of open connections; " +
	"both compositions, by calls (Chain) and by communicating processes (ProcChain), kept up until between 1,500 and 2,000 requests per second, without a significant difference between the two."
