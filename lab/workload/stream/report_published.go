package stream

import (
	"fmt"
	"math"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/report/paper"
	"weir/lab/result"
)

// The published programs.
const (
	publishedC  = "published-c"
	publishedGo = "published-go"
)

// asPublished reports whether the run has the published programs.
func (d digest) asPublished() bool { return d.C == publishedC && d.Go == publishedGo }

// programs is the CPU of the published programs in a group, in % of a core. It is NaN if one has no
// trial.
type programs struct{ c, goLang float64 }

// programsOf returns the CPU in a group by an accounting method.
func programsOf(g *report.Group, m result.AccountingMethod) programs {
	of := func(subject string) float64 {
		if x := g.Cell(subject); x != nil {
			return x.CPUBy(m).Mean
		}
		return math.NaN()
	}
	return programs{of(publishedC), of(publishedGo)}
}

func (p programs) ratio() float64 { return p.goLang / p.c }

// ratio returns the ratio of Go over C in a group by the accounting method of the report.
func (d digest) ratio(g *report.Group) float64 { return programsOf(g, d.Methods()[0]).ratio() }

// publishedAnswer compares the two published programs, and says how far the worst accounting method
// distorts their ratio.
func (d digest) publishedAnswer() []string {
	g := d.Busiest()[0]
	first := fmt.Sprintf("Under the %s load at %s the published Go program used %s times the CPU of the C program (%s)",
		g.Load, format.Connections(g.Connections), format.Times(d.ratio(g)), d.publishedVerdict(g))
	if p := paper.Ratio(g.Connections); !math.IsNaN(p) {
		first += fmt.Sprintf("; the published table says %s times", format.Times(p))
	}
	second := "No second CPU accounting method was read, so this run does not show how far the published method distorts the ratio."
	far := 0.0
	for _, m := range d.Methods()[1:] {
		v := programsOf(g, m).ratio()
		if away := math.Abs(math.Log(v / d.ratio(g))); away > far && !math.IsInf(away, 0) {
			far, second = away, fmt.Sprintf("The CPU accounting method changes the ratio: \"%s\" shows %s times for the same trials.", m.Name, format.Times(v))
		}
	}
	return []string{first + ".", second}
}

// publishedVerdict is the interval and the verdict of the ratio in a group.
func (d digest) publishedVerdict(g *report.Group) string {
	v, ok := d.Versus(result.MetricCPU, g, publishedGo, publishedC)
	switch {
	case !ok:
		return format.NoInterval
	case v.Pairs < 2:
		return "one block, no interval"
	}
	return format.Between(v.Low, v.High) + ", " + v.Verdict
}

// publishedSection explains the published difference. It is empty unless the run has the published
// programs.
func (d digest) publishedSection() report.Section {
	s := report.Section{ID: "published", Title: "How much of the published difference remains",
		How: "Each curve shows the same trials by another CPU accounting method. If a curve departs from that of the method of this report, the method misses CPU; the cost itself is the same."}
	if !d.asPublished() {
		return s
	}
	var said []string
	var figs []*figure.Figure
	for _, load := range d.Loads() {
		said = append(said, d.differenceSentence(load))
		figs = append(figs, d.plateauFigure(load, publishedC), d.plateauFigure(load, publishedGo))
	}
	s.Blocks = []report.Block{report.Paragraph("%s", strings.Join(append(said, d.plateaus()...), " ")), {Figures: figs}, {Table: d.ratioTable()}}
	return s
}

// differenceSentence states the difference between the published programs under one load.
func (d digest) differenceSentence(load string) string {
	groups := d.alongConnections(load)
	top := groups[len(groups)-1]
	s := fmt.Sprintf("Under the %s load (%s) the Go program used %s times the CPU of the C program at %s (%s)", load, d.Describe(load), format.Times(d.ratio(top)), format.Connections(top.Connections), d.publishedVerdict(top))
	if p := paper.Ratio(top.Connections); p > 0 && d.ratio(top) > 0 {
		s += fmt.Sprintf("; the published table has %s times", format.Times(p))
	}
	var also []string
	for _, g := range groups[:len(groups)-1] {
		if r := d.ratio(g); r > 0 {
			also = append(also, fmt.Sprintf("%s at %d", format.Times(r), g.Connections))
		}
	}
	if len(also) > 0 {
		s += "; with fewer connections it is " + format.List(also)
	}
	return s + "."
}

// plateaus returns a sentence for each load and accounting method in which the C program's CPU
// seems to stop growing with the connections: the method shows less than half of the growth.
func (d digest) plateaus() []string {
	var said []string
	for _, load := range d.Loads() {
		groups := d.alongConnections(load)
		if len(groups) < 2 {
			continue
		}
		from, to := groups[len(groups)-2], groups[len(groups)-1]
		a, b := programsOf(from, d.Methods()[0]).c, programsOf(to, d.Methods()[0]).c
		for _, m := range d.Methods()[1:] {
			ma, mb := programsOf(from, m).c, programsOf(to, m).c
			if b/a > 1.2 && mb/ma < 1+(b/a-1)/2 {
				said = append(said, fmt.Sprintf("From %d to %s under the %s load the C program's CPU grew from %s to %s %% of a core, but \"%s\" shows %s and %s %%: that plateau is an error of the accounting method.",
					from.Connections, format.Connections(to.Connections), load, format.Sig(a), format.Sig(b), m.Name, format.Sig(ma), format.Sig(mb)))
			}
		}
	}
	return said
}

func (d digest) plateauFigure(load, subject string) *figure.Figure {
	c := figure.Lines{Name: "plateau-" + subject + "-" + load, Title: fmt.Sprintf("%s under the %s load, by accounting method", subject, load),
		Desc: "Mean CPU against the number of connections: one curve for each accounting method and one for the published figures.",
		X:    report.ConnectionAxis(d.ConnectionsOf(load)), Y: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for i, m := range d.Methods() {
		curve := figure.Curve{Name: m.Name, Style: i}
		for _, g := range d.alongConnections(load) {
			if x := g.Cell(subject); x != nil {
				e := x.CPUBy(m)
				curve.Points = append(curve.Points, e.Point(float64(g.Connections), fmt.Sprintf("%s, %s, %s: %s %%", subject, format.Connections(g.Connections), m.Name, e)))
			}
		}
		c.Curves = append(c.Curves, curve)
	}
	c.Curves = append(c.Curves, paper.CPUCurve(subject == publishedC, d.ConnectionsOf(load)))
	return c.Draw()
}

// alongConnections returns the groups of a load under its first arrival pattern, by connections.
func (d digest) alongConnections(load string) []*report.Group {
	var out []*report.Group
	for _, n := range d.ConnectionsOf(load) {
		out = append(out, d.GroupsAt(load, n)[0])
	}
	return out
}

func (d digest) ratioTable() *report.Table {
	t := &report.Table{Caption: "CPU of the Go program over that of the C program, by accounting method: 1 means equal", Align: "lrr", Head: []string{"Load", "Connections", "Published"}}
	for _, m := range d.Methods() {
		t.AddColumn(m.Name, 'r')
	}
	for _, load := range d.Loads() {
		for _, g := range d.alongConnections(load) {
			row := []string{load, format.Count(g.Connections), format.Times(paper.Ratio(g.Connections))}
			for _, m := range d.Methods() {
				row = append(row, format.Times(programsOf(g, m).ratio()))
			}
			t.Add(row...)
		}
	}
	return t
}
