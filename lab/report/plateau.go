package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// publishedRatio is Go over C in the published table at a number of connections; NaN where it has
// no row.
func publishedRatio(connections int) float64 {
	for _, row := range published {
		if row.connections == connections {
			return row.goLang.percent / row.c.percent
		}
	}
	return math.NaN()
}

// remains is what is left of the published difference in a group, by one ruler: both means and Go
// over C.
func remains(g *group, r result.Ruler) (c, goLang, ratio float64) {
	c, goLang = math.NaN(), math.NaN()
	if x := g.cell(publishedC[0]); x != nil {
		c = x.seen(r).mean
	}
	if x := g.cell(publishedGo[0]); x != nil {
		goLang = x.seen(r).mean
	}
	return c, goLang, goLang / c
}

// publishedAnswer says what the two published programs cost, and what the ruler that bends it most
// makes of it.
func (d *digest) publishedAnswer() []string {
	g := d.busiest()[0]
	rulers := d.rulers()
	_, _, ratio := remains(g, rulers[0])
	first := fmt.Sprintf("Under the %s load at %s the published Go program used %s times the CPU of the C program (%s)",
		g.load, conns(g.connections), times(ratio), d.publishedVerdict(g))
	if p := publishedRatio(g.connections); !math.IsNaN(p) {
		first += fmt.Sprintf("; the published table says %s times", times(p))
	}
	second := "No other ruler was read beside the true one, so what the published ruler adds is not known from this run."
	if r, bent, ok := furthest(g, rulers); ok {
		second = fmt.Sprintf("The ruler makes a difference of its own: \"%s\" shows %s times for the same trials.", r.Name, times(bent))
	}
	return []string{first + ".", second}
}

// furthest is the ruler, beside the true one, whose ratio is furthest from that one's.
func furthest(g *group, rulers []result.Ruler) (r result.Ruler, ratio float64, ok bool) {
	_, _, truth := remains(g, rulers[0])
	far := 0.0
	for _, other := range rulers[1:] {
		_, _, v := remains(g, other)
		if away := math.Abs(math.Log(v / truth)); away > far && !math.IsInf(away, 0) {
			r, ratio, far, ok = other, v, away, true
		}
	}
	return r, ratio, ok
}

func (d *digest) publishedVerdict(g *group) string {
	v, ok := d.versus(result.MetricCPU, g, publishedGo[0], publishedC[0])
	switch {
	case !ok:
		return "no interval"
	case v.Pairs < 2:
		return "one pair of trials, no interval"
	}
	return between(v.Low, v.High) + ", " + v.Verdict
}

// publishedSection takes the published comparison apart: only for runs of the published programs.
func (d *digest) publishedSection() section {
	s := section{ID: "published", Title: "What is left of the published difference",
		How: "Each curve is the same trials seen by another ruler. Where a ruler bends away from the true one, it is the ruler that stops growing, not the cost."}
	if !d.asPublished() {
		return s
	}
	var said []string
	var figs []*figure.Figure
	for _, load := range d.loads() {
		said = append(said, d.leftOf(load))
		figs = append(figs, d.plateauFigure(load, publishedC[0], true), d.plateauFigure(load, publishedGo[0], false))
	}
	s.Blocks = []block{text("%s", strings.Join(append(said, d.plateaus()...), " ")), {Figures: figs}, {Table: d.ratioTable()}}
	return s
}

// leftOf is the paragraph's part about one load.
func (d *digest) leftOf(load string) string {
	groups := d.alongConnections(load)
	top := groups[len(groups)-1]
	_, _, ratio := remains(top, d.rulers()[0])
	s := fmt.Sprintf("Under the %s load (%s) the Go program used %s times the CPU of the C program at %s (%s)", load, d.describe(load), times(ratio), conns(top.connections), d.publishedVerdict(top))
	if p := publishedRatio(top.connections); p > 0 && ratio > 0 {
		s += fmt.Sprintf(", where the published table has %s times", times(p))
	}
	var also []string
	for _, g := range groups[:len(groups)-1] {
		if _, _, r := remains(g, d.rulers()[0]); r > 0 {
			also = append(also, fmt.Sprintf("%s at %d", times(r), g.connections))
		}
	}
	if len(also) > 0 {
		s += "; with fewer connections it is " + list(also)
	}
	return s + "."
}

// plateaus is a sentence for each load and ruler under which the C program's cost stops growing,
// though in truth it grows.
func (d *digest) plateaus() []string {
	var said []string
	for _, load := range d.loads() {
		groups := d.alongConnections(load)
		if len(groups) < 2 {
			continue
		}
		for _, r := range d.rulers()[1:] {
			said = append(said, d.plateau(groups[len(groups)-2], groups[len(groups)-1], r)...)
		}
	}
	return said
}

// plateau speaks when a ruler sees less than half of the growth between two groups.
func (d *digest) plateau(from, to *group, r result.Ruler) []string {
	a, _, _ := remains(from, d.rulers()[0])
	b, _, _ := remains(to, d.rulers()[0])
	ra, _, _ := remains(from, r)
	rb, _, _ := remains(to, r)
	if !(b/a > 1.2 && rb/ra < 1+(b/a-1)/2) {
		return nil
	}
	return []string{fmt.Sprintf("From %d to %s under the %s load the C program's true cost grew from %s to %s %% of a core while \"%s\" shows %s and %s %%: that plateau is the ruler's.",
		from.connections, conns(to.connections), from.load, sig(a), sig(b), r.Name, sig(ra), sig(rb))}
}

func (d *digest) plateauFigure(load, subject string, isC bool) *figure.Figure {
	c := figure.Lines{Name: "plateau-" + subject + "-" + load, Title: fmt.Sprintf("%s under the %s load, by ruler", subject, load),
		Desc: "Mean CPU against the number of connections: one curve for each ruler and one for the published figures.",
		X:    connectionAxis(d.connections(load)), Y: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, r := range d.rulers() {
		curve := figure.Curve{Name: r.Name, Style: i}
		for _, g := range d.alongConnections(load) {
			if x := g.cell(subject); x != nil {
				e := x.seen(r)
				curve.Points = append(curve.Points, figure.XY{X: float64(g.connections), Y: e.mean, Low: e.low, High: e.high,
					Hover: fmt.Sprintf("%s, %s, %s: %s %%", subject, conns(g.connections), r.Name, e)})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	c.Curves = append(c.Curves, publishedCurve(isC, d.connections(load), func(p publishedPair) float64 { return p.percent }))
	return c.Draw()
}

// alongConnections is the groups of a load under its first pattern, by connections.
func (d *digest) alongConnections(load string) []*group {
	var out []*group
	for _, n := range d.connections(load) {
		out = append(out, d.at(load, n)[0])
	}
	return out
}

// publishedCurve is the published figures at those of counts that the table has.
func publishedCurve(isC bool, counts []int, of func(publishedPair) float64) figure.Curve {
	curve := figure.Curve{Name: "published Go", Style: 1, Quiet: true}
	if isC {
		curve = figure.Curve{Name: "published C", Style: 0, Quiet: true}
	}
	for _, row := range published {
		pair := row.goLang
		if isC {
			pair = row.c
		}
		if slices.Contains(counts, row.connections) {
			curve.Points = append(curve.Points, figure.XY{X: float64(row.connections), Y: of(pair),
				Hover: fmt.Sprintf("%s, %s: %s", curve.Name, conns(row.connections), sig(of(pair)))})
		}
	}
	return curve
}

func (d *digest) ratioTable() *table {
	t := &table{Caption: "CPU of the Go program over that of the C program, by ruler: 1 means equal cost", Align: "lrr", Head: []string{"Load", "Connections", "Published"}}
	for _, r := range d.rulers() {
		t.Align += "r"
		t.Head = append(t.Head, r.Name)
	}
	for _, load := range d.loads() {
		for _, g := range d.alongConnections(load) {
			row := []string{load, count(g.connections), times(publishedRatio(g.connections))}
			for _, r := range d.rulers() {
				_, _, ratio := remains(g, r)
				row = append(row, times(ratio))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
