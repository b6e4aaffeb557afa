package http

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

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
		s.Blocks = append(s.Blocks, report.Block{Head: format.Upper(d.Caption(g))}, report.Paragraph("%s", d.ceilingSentence(g)))
		if f := d.loopFigure(g); f != nil {
			s.Blocks = append(s.Blocks, report.Block{Figures: []*figure.Figure{f}})
		}
		s.Blocks = append(s.Blocks, report.Block{Table: d.loopTable(g)})
		if bound := d.GeneratorBound(g); len(bound) > 0 {
			s.Blocks = append(s.Blocks, report.Paragraph("The load generator reached its limit with %s, and the server did not: the rate of the server is at least the stated one.", format.List(bound)))
		}
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
	l := d.LoadOf(g.Load)
	low, high := g.Rates()
	ceiling := l.Requests.Ceiling(g.Connections)
	came := fmt.Sprintf("The servers reached %s requests/s", fromTo(low, high))
	switch {
	case math.IsNaN(low):
		return "No trial of this load was accepted."
	case math.IsInf(ceiling, 1):
		return came + "; this load has no ceiling."
	}
	s := fmt.Sprintf("One request in %d sleeps %s ms: over %s the sleeps allow at most %s requests/s with any server.", l.Requests.SleepEvery, format.Count(l.Requests.SleepMS), format.Connections(g.Connections), format.Short(ceiling))
	if floor := l.Requests.Floor(g.Connections); floor > 0 {
		s += fmt.Sprintf(" %s requests take at least %s s.", format.Count(l.Requests.Count), format.Short(floor.Seconds()))
	}
	s += fmt.Sprintf(" %s, %s of that", came, fromToPercent(low/ceiling, high/ceiling))
	if isPublished(l, g.Connections) {
		s += "; the published servers reached " + publishedRates
	}
	if d.floored(g) {
		return s + ". This load measures its own sleeps: it cannot rank servers." + d.rateVerdicts(g)
	}
	return s + ": this load can rank the servers." + d.rateVerdicts(g)
}

func fromTo(low, high float64) string {
	if a, b := format.Rate(low), format.Rate(high); a != b {
		return a + " to " + b
	}
	return format.Rate(low)
}

func fromToPercent(low, high float64) string {
	if a, b := format.Fixed(100*low, 1), format.Fixed(100*high, 1); a != b {
		return a + " to " + b + " %"
	}
	return format.Percent(low)
}

// rateVerdicts counts the verdicts on the rates of a group.
func (d digest) rateVerdicts(g *report.Group) string {
	said := map[string]int{}
	for _, v := range d.Family(result.MetricRate, g) {
		said[v.Verdict]++
	}
	if len(said) == 0 {
		return ""
	}
	var words []string
	for _, verdict := range slices.Sorted(maps.Keys(said)) {
		words = append(words, fmt.Sprintf("%s in %d", verdict, said[verdict]))
	}
	return fmt.Sprintf(" Of %s compared by requests/s: %s.", format.Plural(len(d.Family(result.MetricRate, g)), "pair", "pairs"), strings.Join(words, ", "))
}

func (d digest) loopTable(g *report.Group) *report.Table {
	l := d.LoadOf(g.Load)
	t := &report.Table{Caption: format.Upper(d.Caption(g)) + ": requests/s, fastest first", Align: "lrrrrlrrrrrrl",
		Head: []string{"Subject", "Requests/s", "Of the ceiling", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "Seconds for " + format.Count(l.Requests.Count), "Floor, s", "Published requests/s", "Published, s", "p50, ms", "p99, ms", "Errors"}}
	cells := g.ByRate()
	for i, c := range cells {
		of, verdict := "1", "highest mean"
		if i > 0 {
			of, verdict = d.VersusFastest(g, c, cells[0])
		}
		row := []string{c.Subject, format.Rate(c.Rate().Mean), format.Absent, c.Rate().RateInterval(), of, verdict, format.Absent, format.Absent, format.Absent, format.Absent,
			format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99)), cmp.Or(errorKinds(c), format.Absent)}
		if ceiling := l.Requests.Ceiling(g.Connections); !math.IsInf(ceiling, 1) {
			row[2] = format.Percent(c.Rate().Mean / ceiling)
		}
		if l.Requests.Count > 0 {
			row[6], row[7] = format.Fixed(float64(l.Requests.Count)/c.Rate().Mean, 2), format.Fixed(l.Requests.Floor(g.Connections).Seconds(), 2)
		}
		if was, ok := publishedWeb[c.Subject]; ok && isPublished(l, g.Connections) {
			row[8], row[9] = format.Fixed(was.rate, 2), format.Fixed(was.took.Seconds(), 2)
		}
		t.Add(row...)
	}
	return t.Trim()
}

// loopFigure shows the rates of a group, with a line at the ceiling if it is near.
func (d digest) loopFigure(g *report.Group) *figure.Figure {
	l := d.LoadOf(g.Load)
	c := figure.Rows{Name: "requests-" + d.Tag(g), Title: "Requests/s: " + d.Caption(g), Desc: "One row for each subject, with its 95 % interval.", X: figure.Axis{Label: "requests/s", Zero: true}}
	_, high := g.Rates()
	if ceiling := l.Requests.Ceiling(g.Connections); ceiling <= 4*high {
		c.Mark, c.X.Label = []float64{ceiling}, fmt.Sprintf("requests/s; the line is the ceiling, %s", format.Short(ceiling))
	}
	for _, x := range g.ByRate() {
		e := x.Rate()
		row := figure.Row{Name: x.Subject + ": " + format.Rate(e.Mean), Role: figure.Series(x.Index), Dots: []figure.Dot{{X: e.Mean, Low: e.Low, High: e.High,
			Shape: figure.ShapeOf(x.Index), Role: figure.Series(x.Index), Hover: fmt.Sprintf("%s: %s requests/s", x.Subject, e)}}}
		if was, ok := publishedWeb[x.Subject]; ok && isPublished(l, g.Connections) {
			row.Name += ", published " + format.Rate(was.rate)
			row.Dots = append(row.Dots, figure.Dot{X: was.rate, Shape: figure.Circle, Role: figure.Muted, Hollow: true, Hover: fmt.Sprintf("%s, published: %s requests/s", x.Subject, format.Short(was.rate))})
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c.Draw()
}

// publishedRun is a result of article 001.
type publishedRun struct {
	rate float64
	took time.Duration
}

// publishedWeb holds the two results in "Concurrency in modern programming languages: Golang", by
// the subjects that do the same.
var publishedWeb = map[string]publishedRun{
	"http-go-raw": {494.86, 20208 * time.Millisecond},
	"http-go":     {494.27, 20232 * time.Millisecond},
}

// publishedRates is the range of rates that the series of articles published for its servers.
const publishedRates = "494 to 499 in the article"

// isPublished reports whether a load is that of the article: ab -c 100 -n 10000, one request in ten
// sleeps two seconds.
func isPublished(l result.Load, connections int) bool {
	return l.Rate == 0 && l.Requests.NoKeepAlive && l.Requests.Count == 10_000 && connections == 100 && l.Requests.SleepMS == 2000 && l.Requests.SleepEvery == 10
}

// publishedPipes summarizes figures 4 and 5 of paper 004, which have no numbers.
const publishedPipes = "As published (\"Serving Web Content with Dynamic Process Networks in Go\", figures 4 and 5, a 4 KB file, server and clients on machines of their own): " +
	"Apache answered all requests; Go's http package of 2011 stopped at just under a third of the rate, at a fixed limit of open connections; " +
	"both compositions, by calls (Chain) and by communicating processes (ProcChain), kept up until between 1,500 and 2,000 requests per second, without a significant difference between the two."
