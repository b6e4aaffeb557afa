package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"weir/lab/report/format"
	"weir/lab/result"
)

// ClosedLoops returns the groups of closed loops.
func (d *Digest) ClosedLoops() []*Group {
	return selected(d.Groups, func(g *Group) bool { return g.Pattern == result.Closed })
}

// Rates returns the lowest and the highest rate of a group; NaN without any.
func (g *Group) Rates() (low, high float64) {
	cells := g.ByRate()
	if len(cells) == 0 {
		return math.NaN(), math.NaN()
	}
	return cells[len(cells)-1].Rate().Mean, cells[0].Rate().Mean
}

// ByRate returns a group's cells that have trials, the fastest first.
func (g *Group) ByRate() []*Cell {
	cells := g.Measured()
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(b.Rate().Mean, a.Rate().Mean) })
	return cells
}

// RateTable lists the subjects of a closed loop, the fastest first.
func (d *Digest) RateTable(g *Group) *Table {
	t := &Table{Caption: format.Upper(d.Caption(g)) + ": " + d.Units() + "/s, fastest first", Align: "lrrrlrr",
		Head: []string{"Subject", format.Upper(d.Units()) + "/s", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "p50, ms", "p99, ms"}}
	cells := g.ByRate()
	for i, c := range cells {
		rate, interval, of, verdict := c.Rate(), format.Absent, "1", "highest mean"
		if rate.HasInterval() {
			interval = format.Rate(rate.Low) + " to " + format.Rate(rate.High)
		}
		if v, ok := d.Versus(result.MetricRate, g, c.Subject, cells[0].Subject); ok {
			of, verdict = RatioWithin(v), v.Verdict
		} else if i > 0 {
			of, verdict = format.Times(rate.Mean/cells[0].Rate().Mean), "not compared"
		}
		t.Add(c.Subject, format.Rate(rate.Mean), interval, of, verdict, format.Sig(c.Millis(P50)), format.Sig(c.Millis(P99)))
	}
	return t
}

// CostSection ranks the subjects by CPU per message under every load. includes is a sentence on
// what a message includes, with a space at its end, or empty.
func (d *Digest) CostSection(includes string) Section {
	return Section{ID: "cost", Title: "CPU per " + d.Unit(),
		How: "CPU of the server's whole process tree, lowest first. " + includes + "Generator and Machine are the CPU of the load generator and of the whole machine per " + d.Unit() + ", in the same trials. " +
			d.Correction(result.MetricCPU),
		Blocks: d.PerGroupTable(d.RankTable)}
}

// ClosedSection shows the rates of closed loops, each of whose senders waits for its answer.
func (d *Digest) ClosedSection(sender string) Section {
	s := Section{ID: "closed", Title: format.Upper(d.Units()) + " per second in a closed loop",
		How: format.Upper(sender) + " sends its next " + d.Unit() + " when it has the answer, so the server sets the rate. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		s.Blocks = append(s.Blocks, Block{Table: d.RateTable(g)}, d.GeneratorBound(g))
	}
	return s
}

// LoopSummary returns the ranking by CPU under the load that tells most, and the rates of closed
// loops.
func (d *Digest) LoopSummary() []*Table {
	tables := d.RankSummaries(d.Busiest())
	for _, g := range d.ClosedLoops() {
		tables = append(tables, d.RateTable(g))
	}
	return tables
}

// maxLoopSentences is the number of sentences of LoopAnswer.
const maxLoopSentences = 3

// LoopAnswer names the server with the least CPU per message, and the fastest of each closed loop.
// There is a group.
func (d *Digest) LoopAnswer() []string {
	said := []string{d.leastCPU(d.Busiest()[0])}
	for _, g := range d.ClosedLoops() {
		if cells := g.ByRate(); len(cells) > 0 && len(said) < maxLoopSentences {
			said = append(said, d.fastest(g, cells))
		}
	}
	return said
}

// leastCPU names the server with the least CPU in a group.
func (d *Digest) leastCPU(g *Group) string {
	l, ok := d.Lead(result.MetricCPU, g)
	if !ok {
		return fmt.Sprintf("With %s, no CPU was measured.", d.Caption(g))
	}
	return fmt.Sprintf("With %s, %s.", d.Caption(g), l.Sentence(fmt.Sprintf("used the least CPU (%s µs per %s)", format.Sig(l.Value.Mean), d.Unit())))
}

// fastest names the server that answered most in a closed loop, and those that cannot be
// distinguished from it. The cells are in the order of their rates.
func (d *Digest) fastest(g *Group, cells []*Cell) string {
	s := fmt.Sprintf("With %s, %s answered the most %s (%s per second)", d.Caption(g), cells[0].Subject, d.Units(), format.Rate(cells[0].Rate().Mean))
	var tied []string
	for _, c := range cells[1:] {
		if v, ok := d.Versus(result.MetricRate, g, cells[0].Subject, c.Subject); !ok || v.Verdict != result.Different {
			tied = append(tied, c.Subject)
		}
	}
	if len(tied) == 0 {
		return s + "."
	}
	return s + "; not significantly different: " + format.List(tied) + "."
}

// GeneratorBound names the subjects in whose trials the generator was at its limit and the server
// was not. Newer runs reject such trials; older results may contain them.
func (d *Digest) GeneratorBound(g *Group) Block {
	const busy = 90 // percent of a core
	var names []string
	for _, c := range g.ByRate() {
		load := Median(c.Trials, func(t *result.Trial) float64 {
			return 100 * (t.LoadUSPerMsg*t.Rate()/1e6 + t.LoadRunQueue)
		})
		if load >= busy && c.Percent.Mean < busy*float64(max(1, len(d.Plan.ServerCPUs))) {
			names = append(names, c.Subject)
		}
	}
	if len(names) == 0 {
		return Block{}
	}
	return Paragraph("The load generator reached its limit with %s, and the server did not: the rate of the server is at least the stated one.", format.List(names))
}
