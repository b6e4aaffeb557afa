package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// atCeiling is the share of its ceiling from which on the load, not the server, sets a rate.
const atCeiling = 0.9

// loops returns the groups of closed loops.
func (d *digest) loops() []*group {
	return slices.DeleteFunc(slices.Clone(d.groups), func(g *group) bool { return g.pattern != result.Closed })
}

// closedSection shows the rates of closed loops, with the ceiling that the sleeps set.
func (d *digest) closedSection() section {
	s := section{ID: "closed", Title: "Requests per second in a closed loop, and the limit of the load",
		How: "A connection sends its next request when it has the response, so the server and its waits set the rate. If requests sleep, the sleeps set a ceiling. The ceiling is computed, and so is the time for a number of requests. " + d.correction(result.MetricRate)}
	for _, g := range d.loops() {
		s.Blocks = append(s.Blocks, block{Head: upper(d.caption(g))}, text("%s", d.ceilingSentence(g)))
		if f := d.loopFigure(g); f != nil {
			s.Blocks = append(s.Blocks, block{Figures: []*figure.Figure{f}})
		}
		s.Blocks = append(s.Blocks, block{Table: d.loopTable(g)})
		if bound := g.generatorBound(d); len(bound) > 0 {
			s.Blocks = append(s.Blocks, text("The load generator reached its limit with %s, and the server did not: the rate of the server is at least the stated one.", list(bound)))
		}
	}
	return s
}

// rates returns the lowest and the highest rate of a group; NaN without any.
func (g *group) rates() (low, high float64) {
	cells := g.byRate()
	if len(cells) == 0 {
		return math.NaN(), math.NaN()
	}
	return cells[len(cells)-1].rate().mean, cells[0].rate().mean
}

// floored reports whether only the sleeps of a group's load set its rates.
func (d *digest) floored(g *group) bool {
	low, _ := g.rates()
	return low >= atCeiling*d.loadOf(g.load).Requests.Ceiling(g.connections)
}

// ceilingSentence states the ceiling of a closed loop, the rates, and whether the load can rank
// servers.
func (d *digest) ceilingSentence(g *group) string {
	l := d.loadOf(g.load)
	low, high := g.rates()
	ceiling := l.Requests.Ceiling(g.connections)
	came := fmt.Sprintf("The servers reached %s requests/s", fromTo(low, high))
	switch {
	case math.IsNaN(low):
		return "No trial of this load was accepted."
	case math.IsInf(ceiling, 1):
		return came + "; this load has no ceiling."
	}
	s := fmt.Sprintf("One request in %d sleeps %s ms: over %s the sleeps allow at most %s requests/s with any server.", l.Requests.SleepEvery, count(l.Requests.SleepMS), conns(g.connections), short(ceiling))
	if floor := l.Requests.Floor(g.connections); floor > 0 {
		s += fmt.Sprintf(" %s requests take at least %s s.", count(l.Requests.Count), short(floor.Seconds()))
	}
	s += fmt.Sprintf(" %s, %s of that", came, fromToPercent(low/ceiling, high/ceiling))
	if isPublished(l, g.connections) {
		s += "; the published servers reached " + publishedRates
	}
	if d.floored(g) {
		return s + ". This load measures its own sleeps: it cannot rank servers." + d.rateVerdicts(g)
	}
	return s + ": this load can rank the servers." + d.rateVerdicts(g)
}

func fromTo(low, high float64) string {
	if a, b := perSecond(low), perSecond(high); a != b {
		return a + " to " + b
	}
	return perSecond(low)
}

func fromToPercent(low, high float64) string {
	if a, b := fixed(100*low, 1), fixed(100*high, 1); a != b {
		return a + " to " + b + " %"
	}
	return percent(low)
}

// rateVerdicts counts the verdicts on the rates of a group.
func (d *digest) rateVerdicts(g *group) string {
	said := map[string]int{}
	for _, v := range d.family(result.MetricRate, g) {
		said[v.Verdict]++
	}
	if len(said) == 0 {
		return ""
	}
	var words []string
	for _, verdict := range slices.Sorted(maps.Keys(said)) {
		words = append(words, fmt.Sprintf("%s in %d", verdict, said[verdict]))
	}
	return fmt.Sprintf(" Of %s compared by requests/s: %s.", plural(len(d.family(result.MetricRate, g)), "pair", "pairs"), strings.Join(words, ", "))
}

// byRate returns a group's cells that have trials, the fastest first.
func (g *group) byRate() []*cell {
	cells := slices.DeleteFunc(slices.Clone(g.cells), func(c *cell) bool { return len(c.trials) == 0 })
	slices.SortStableFunc(cells, func(a, b *cell) int { return cmp.Compare(b.rate().mean, a.rate().mean) })
	return cells
}

func (d *digest) loopTable(g *group) *table {
	l := d.loadOf(g.load)
	t := &table{Caption: upper(d.caption(g)) + ": requests/s, fastest first", Align: "lrrrrlrrrrrrl",
		Head: []string{"Subject", "Requests/s", "Of the ceiling", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "Seconds for " + count(l.Requests.Count), "Floor, s", "Published requests/s", "Published, s", "p50, ms", "p99, ms", "Errors"}}
	cells := g.byRate()
	for i, c := range cells {
		of, verdict := "1", "highest mean"
		if i > 0 {
			of, verdict = d.versusFastest(g, c, cells[0])
		}
		row := []string{c.subject, perSecond(c.rate().mean), absent, c.rate().rateInterval(), of, verdict, absent, absent, absent, absent,
			sig(c.ms(p50)), sig(c.ms(p99)), orElse(c.errorKinds(), absent)}
		if ceiling := l.Requests.Ceiling(g.connections); !math.IsInf(ceiling, 1) {
			row[2] = percent(c.rate().mean / ceiling)
		}
		if l.Requests.Count > 0 {
			row[6], row[7] = fixed(float64(l.Requests.Count)/c.rate().mean, 2), fixed(l.Requests.Floor(g.connections).Seconds(), 2)
		}
		if was, ok := publishedWeb[c.subject]; ok && isPublished(l, g.connections) {
			row[8], row[9] = fixed(was.rate, 2), fixed(was.took.Seconds(), 2)
		}
		t.add(row...)
	}
	return t.trim()
}

// perSecond formats a rate, below 1,000 with a decimal: rates that sleeps set differ only there.
func perSecond(v float64) string {
	if v < 1000 {
		return fixed(v, 1)
	}
	return short(v)
}

// rateInterval formats the interval of a rate with the decimals of perSecond.
func (e estimate) rateInterval() string {
	if !e.hasInterval() {
		return absent
	}
	return perSecond(e.low) + " to " + perSecond(e.high)
}

func (d *digest) versusFastest(g *group, c, first *cell) (ratio, verdict string) {
	v, ok := d.versus(result.MetricRate, g, c.subject, first.subject)
	if !ok {
		return times(c.rate().mean / first.rate().mean), "not compared"
	}
	return ratioWithin(v), v.Verdict
}

// loopFigure shows the rates of a group, with a line at the ceiling if it is near.
func (d *digest) loopFigure(g *group) *figure.Figure {
	l := d.loadOf(g.load)
	c := figure.Rows{Name: "requests-" + d.tag(g), Title: "Requests/s: " + d.caption(g), Desc: "One row for each subject, with its 95 % interval.", X: figure.Axis{Label: "requests/s", Zero: true}}
	_, high := g.rates()
	if ceiling := l.Requests.Ceiling(g.connections); ceiling <= 4*high {
		c.Mark, c.X.Label = []float64{ceiling}, fmt.Sprintf("requests/s; the line is the ceiling, %s", short(ceiling))
	}
	for _, x := range g.byRate() {
		e := x.rate()
		row := figure.Row{Name: x.subject + ": " + perSecond(e.mean), Role: figure.Series(x.index), Dots: []figure.Dot{{X: e.mean, Low: e.low, High: e.high,
			Shape: figure.ShapeOf(x.index), Role: figure.Series(x.index), Hover: fmt.Sprintf("%s: %s requests/s", x.subject, e)}}}
		if was, ok := publishedWeb[x.subject]; ok && isPublished(l, g.connections) {
			row.Name += ", published " + perSecond(was.rate)
			row.Dots = append(row.Dots, figure.Dot{X: was.rate, Shape: figure.Circle, Role: figure.Muted, Hollow: true, Hover: fmt.Sprintf("%s, published: %s requests/s", x.subject, short(was.rate))})
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c.Draw()
}

// generatorBound returns the subjects in whose trials the generator was at its limit and the server
// was not. Newer runs reject such trials; older results may contain them.
func (g *group) generatorBound(d *digest) []string {
	const busy = 90 // percent of a core
	var names []string
	for _, c := range g.byRate() {
		load := median(c.trials, func(t *result.Trial) float64 {
			return 100 * (t.LoadUSPerMsg*t.Rate()/1e6 + t.LoadRunQueue)
		})
		if load >= busy && c.percent.mean < busy*float64(max(1, len(d.Plan.ServerCPUs))) {
			names = append(names, c.subject)
		}
	}
	return names
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
