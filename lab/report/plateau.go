package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// publishedRatio returns the CPU of Go over that of C in the published table; NaN if the table has
// no row for the number of connections.
func publishedRatio(connections int) float64 {
	for _, row := range published {
		if row.connections == connections {
			return row.goLang.percent / row.c.percent
		}
	}
	return math.NaN()
}

// publishedPrograms returns the mean CPU of the two published programs in a group by an accounting
// method, and the ratio of Go over C.
func publishedPrograms(g *group, m result.AccountingMethod) (c, goLang, ratio float64) {
	c, goLang = math.NaN(), math.NaN()
	if x := g.cell(publishedC[0]); x != nil {
		c = x.cpuBy(m).mean
	}
	if x := g.cell(publishedGo[0]); x != nil {
		goLang = x.cpuBy(m).mean
	}
	return c, goLang, goLang / c
}

// publishedAnswer compares the two published programs, and says how far the worst accounting method
// distorts their ratio.
func (d *digest) publishedAnswer() []string {
	g := d.busiest()[0]
	methods := d.methods()
	_, _, ratio := publishedPrograms(g, methods[0])
	first := fmt.Sprintf("Under the %s load at %s the published Go program used %s times the CPU of the C program (%s)",
		g.load, conns(g.connections), times(ratio), d.publishedVerdict(g))
	if p := publishedRatio(g.connections); !math.IsNaN(p) {
		first += fmt.Sprintf("; the published table says %s times", times(p))
	}
	second := "No second CPU accounting method was read, so this run does not show how far the published method distorts the ratio."
	if m, distorted, ok := furthest(g, methods); ok {
		second = fmt.Sprintf("The CPU accounting method changes the ratio: \"%s\" shows %s times for the same trials.", m.Name, times(distorted))
	}
	return []string{first + ".", second}
}

// furthest returns the accounting method whose ratio differs most from that of the first method.
func furthest(g *group, methods []result.AccountingMethod) (m result.AccountingMethod, ratio float64, ok bool) {
	_, _, truth := publishedPrograms(g, methods[0])
	far := 0.0
	for _, other := range methods[1:] {
		_, _, v := publishedPrograms(g, other)
		if away := math.Abs(math.Log(v / truth)); away > far && !math.IsInf(away, 0) {
			m, ratio, far, ok = other, v, away, true
		}
	}
	return m, ratio, ok
}

// publishedVerdict is the interval and the verdict of the ratio in a group.
func (d *digest) publishedVerdict(g *group) string {
	v, ok := d.versus(result.MetricCPU, g, publishedGo[0], publishedC[0])
	switch {
	case !ok:
		return noInterval
	case v.Pairs < 2:
		return "one block, no interval"
	}
	return between(v.Low, v.High) + ", " + v.Verdict
}

// publishedSection explains the published difference. It is empty unless the run has the published
// programs.
func (d *digest) publishedSection() section {
	s := section{ID: "published", Title: "How much of the published difference remains",
		How: "Each curve shows the same trials by another CPU accounting method. If a curve departs from that of the method of this report, the method misses CPU; the cost itself is the same."}
	if !d.asPublished() {
		return s
	}
	var said []string
	var figs []*figure.Figure
	for _, load := range d.loads() {
		said = append(said, d.differenceSentence(load))
		figs = append(figs, d.plateauFigure(load, publishedC[0], true), d.plateauFigure(load, publishedGo[0], false))
	}
	s.Blocks = []block{text("%s", strings.Join(append(said, d.plateaus()...), " ")), {Figures: figs}, {Table: d.ratioTable()}}
	return s
}

// differenceSentence states the difference between the published programs under one load.
func (d *digest) differenceSentence(load string) string {
	groups := d.alongConnections(load)
	top := groups[len(groups)-1]
	_, _, ratio := publishedPrograms(top, d.methods()[0])
	s := fmt.Sprintf("Under the %s load (%s) the Go program used %s times the CPU of the C program at %s (%s)", load, d.describe(load), times(ratio), conns(top.connections), d.publishedVerdict(top))
	if p := publishedRatio(top.connections); p > 0 && ratio > 0 {
		s += fmt.Sprintf("; the published table has %s times", times(p))
	}
	var also []string
	for _, g := range groups[:len(groups)-1] {
		if _, _, r := publishedPrograms(g, d.methods()[0]); r > 0 {
			also = append(also, fmt.Sprintf("%s at %d", times(r), g.connections))
		}
	}
	if len(also) > 0 {
		s += "; with fewer connections it is " + list(also)
	}
	return s + "."
}

// plateaus returns a sentence for each load and accounting method in which the C program's CPU
// seems to stop growing with the connections.
func (d *digest) plateaus() []string {
	var said []string
	for _, load := range d.loads() {
		groups := d.alongConnections(load)
		if len(groups) < 2 {
			continue
		}
		for _, m := range d.methods()[1:] {
			said = append(said, d.plateau(groups[len(groups)-2], groups[len(groups)-1], m)...)
		}
	}
	return said
}

// plateau returns a sentence if an accounting method shows less than half of the growth between two
// groups.
func (d *digest) plateau(from, to *group, m result.AccountingMethod) []string {
	a, _, _ := publishedPrograms(from, d.methods()[0])
	b, _, _ := publishedPrograms(to, d.methods()[0])
	ma, _, _ := publishedPrograms(from, m)
	mb, _, _ := publishedPrograms(to, m)
	if !(b/a > 1.2 && mb/ma < 1+(b/a-1)/2) {
		return nil
	}
	return []string{fmt.Sprintf("From %d to %s under the %s load the C program's CPU grew from %s to %s %% of a core, but \"%s\" shows %s and %s %%: that plateau is an error of the accounting method.",
		from.connections, conns(to.connections), from.load, sig(a), sig(b), m.Name, sig(ma), sig(mb))}
}

func (d *digest) plateauFigure(load, subject string, isC bool) *figure.Figure {
	c := figure.Lines{Name: "plateau-" + subject + "-" + load, Title: fmt.Sprintf("%s under the %s load, by accounting method", subject, load),
		Desc: "Mean CPU against the number of connections: one curve for each accounting method and one for the published figures.",
		X:    connectionAxis(d.connections(load)), Y: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, m := range d.methods() {
		curve := figure.Curve{Name: m.Name, Style: i}
		for _, g := range d.alongConnections(load) {
			if x := g.cell(subject); x != nil {
				e := x.cpuBy(m)
				curve.Points = append(curve.Points, figure.XY{X: float64(g.connections), Y: e.mean, Low: e.low, High: e.high,
					Hover: fmt.Sprintf("%s, %s, %s: %s %%", subject, conns(g.connections), m.Name, e)})
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	c.Curves = append(c.Curves, publishedCurve(isC, d.connections(load), func(p publishedPair) float64 { return p.percent }))
	return c.Draw()
}

// alongConnections returns the groups of a load under its first arrival pattern, by connections.
func (d *digest) alongConnections(load string) []*group {
	var out []*group
	for _, n := range d.connections(load) {
		out = append(out, d.groupsAt(load, n)[0])
	}
	return out
}

// publishedCurve returns the published figures at the numbers of connections that the table has.
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
	t := &table{Caption: "CPU of the Go program over that of the C program, by accounting method: 1 means equal", Align: "lrr", Head: []string{"Load", "Connections", "Published"}}
	for _, m := range d.methods() {
		t.Align += "r"
		t.Head = append(t.Head, m.Name)
	}
	for _, load := range d.loads() {
		for _, g := range d.alongConnections(load) {
			row := []string{load, count(g.connections), times(publishedRatio(g.connections))}
			for _, m := range d.methods() {
				_, _, ratio := publishedPrograms(g, m)
				row = append(row, times(ratio))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
