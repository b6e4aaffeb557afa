// Package paper compares runs with the figures published in Rodriguez Fernandez, "An experimental
// comparison of the performance between different web concurrency paradigms". The kinds of reports
// whose subjects have the paper's concurrency models use it.
//
// Limitations: published figures are shown beside those of a run, and never compared with them.
package paper

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// row is a row of the paper's table: a C server with a process per connection, and a Go server with
// a goroutine per connection.
type row struct {
	connections int
	c, goLang   usage
}

// usage is the mean CPU in % of one core, and its standard deviation over the mean.
type usage struct{ percent, cv float64 }

func percentOf(u usage) float64 { return u.percent }
func cvOf(u usage) float64      { return u.cv }

var published = []row{
	{1, usage{0.34, 0.159}, usage{1.94, 0.169}},
	{2, usage{0.45, 0.221}, usage{2.61, 0.205}},
	{4, usage{0.79, 0.228}, usage{4.35, 0.172}},
	{8, usage{1.37, 0.137}, usage{6.15, 0.276}},
	{16, usage{2.17, 0.147}, usage{11.71, 0.229}},
	{32, usage{2.53, 0.172}, usage{22.71, 0.322}},
	{64, usage{2.53, 0.180}, usage{36.08, 0.243}},
}

// Ratio returns the published CPU of Go over that of C; NaN if the paper has no such number of
// connections.
func Ratio(connections int) float64 {
	for _, r := range published {
		if r.connections == connections {
			return r.goLang.percent / r.c.percent
		}
	}
	return math.NaN()
}

// Run is a run with the subjects that correspond to the published programs.
type Run struct {
	*report.Digest
	C, Go string // empty: none took part
}

// RunOf returns the run with the first of the subjects c and goLang that took part.
func RunOf(d *report.Digest, c, goLang []string) Run {
	first := func(names []string) string {
		for _, n := range names {
			if slices.ContainsFunc(d.Groups, func(g *report.Group) bool { return g.Cell(n) != nil }) {
				return n
			}
		}
		return ""
	}
	return Run{d, first(c), first(goLang)}
}

// Pair returns the comparison of goroutines with processes in a group. ok is false if there is
// none.
func (d Run) Pair(metric string, g *report.Group) (v result.Comparison, ok bool) {
	if d.C == "" || d.Go == "" {
		return v, false
	}
	return d.Versus(metric, g, d.Go, d.C)
}

// usageOf formats the published figures of a subject, or absent.
func (d Run) usageOf(subject string, connections int) []string {
	for _, r := range published {
		for name, u := range map[string]usage{d.C: r.c, d.Go: r.goLang} {
			if r.connections == connections && subject == name && name != "" {
				return []string{format.Fixed(u.percent, 2), format.Fixed(u.cv, 3)}
			}
		}
	}
	return []string{format.Absent, format.Absent}
}

// CPUCurve returns the published CPU of the C or the Go program at the given numbers of
// connections.
func CPUCurve(isC bool, connections []int) figure.Curve { return curve(isC, connections, percentOf) }

func curve(isC bool, connections []int, of func(usage) float64) figure.Curve {
	c := figure.Curve{Name: "published Go", Style: 1, Quiet: true}
	if isC {
		c = figure.Curve{Name: "published C", Style: 0, Quiet: true}
	}
	for _, r := range published {
		v := of(r.goLang)
		if isC {
			v = of(r.c)
		}
		if slices.Contains(connections, r.connections) {
			c.Points = append(c.Points, figure.XY{X: float64(r.connections), Y: v,
				Hover: fmt.Sprintf("%s, %s: %s", c.Name, format.Connections(r.connections), format.Sig(v))})
		}
	}
	return c
}

// connections returns the numbers of connections of the paper's table.
func connections() []int {
	var out []int
	for _, r := range published {
		out = append(out, r.connections)
	}
	return out
}
