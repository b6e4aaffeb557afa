package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// sweepAxis is a setting of a load that a sweep varies.
type sweepAxis struct {
	id   string
	unit string // of its values
	of   func(result.Load, *Group) float64
}

// sweepAxes are the settings that sweeps vary.
var sweepAxes = []sweepAxis{
	{"rate", "/s", func(l result.Load, g *Group) float64 { return l.Rate * float64(g.Connections) }},
	{"connections", "connections", func(_ result.Load, g *Group) float64 { return float64(g.Connections) }},
	{"streams", "streams", func(l result.Load, _ *Group) float64 { return float64(max(l.Requests.Streams, 1)) }},
	{"size", "bytes", func(l result.Load, _ *Group) float64 { return float64(l.Size) }},
}

// sweepFamily is groups that differ in one setting alone, by its values.
type sweepFamily struct {
	sweepAxis
	name   string // of what is alike
	groups []*Group
	values []float64 // of the groups, ascending
}

// SweepSection shows each sweep of the loads in a figure: the rate of a closed loop, and the CPU
// per message of an open one. Sweeps over the settings without (rate, connections, streams, size)
// are left out, because another section shows them.
func (d *Digest) SweepSection(without ...string) Section {
	s := Section{ID: "sweep", Title: "Sweeps of the load",
		How: fmt.Sprintf("Each figure varies one setting of a load, and all else is alike. With a rate it shows the CPU of the server's whole process tree per %s, in a closed loop the rate. Vertical lines are 95 %% intervals.", d.Unit())}
	for _, axis := range sweepAxes {
		if slices.Contains(without, axis.id) {
			continue
		}
		for _, f := range d.sweepFamilies(axis) {
			s.Blocks = append(s.Blocks, Figures(d.sweepFigure(f)), Block{Table: d.sweepTable(f)})
		}
	}
	return s
}

// sweepFamilies returns the families of groups that differ in one setting.
func (d *Digest) sweepFamilies(axis sweepAxis) (all []sweepFamily) {
	seen := map[*Group]bool{}
	for _, g := range d.Groups {
		f := sweepFamily{sweepAxis: axis}
		for _, other := range d.Groups {
			if !seen[other] && d.differIn(axis, g, other) {
				seen[other] = true
				f.groups = append(f.groups, other)
			}
		}
		slices.SortStableFunc(f.groups, func(a, b *Group) int { return cmp.Compare(d.at(axis, a), d.at(axis, b)) })
		for _, other := range f.groups {
			f.values = append(f.values, d.at(axis, other))
		}
		if len(f.groups) < 2 || len(slices.Compact(slices.Clone(f.values))) < len(f.groups) {
			continue
		}
		f.name = d.familyName(axis, f.groups[0])
		all = append(all, f)
	}
	return all
}

// at returns the value of a setting in a group.
func (d *Digest) at(axis sweepAxis, g *Group) float64 { return axis.of(d.LoadOf(g.Load), g) }

// sweptLoad returns the name of the load that a group is a variant of.
func (d *Digest) sweptLoad(g *Group) string { return cmp.Or(d.LoadOf(g.Load).SweepOf, g.Load) }

// differIn reports whether two groups are alike, except perhaps in one setting. A load with a rate
// per connection has another rate with each number of connections.
func (d *Digest) differIn(axis sweepAxis, a, b *Group) bool {
	if d.sweptLoad(a) != d.sweptLoad(b) || a.Pattern != b.Pattern {
		return false
	}
	return !slices.ContainsFunc(sweepAxes, func(other sweepAxis) bool {
		follows := axis.id == "connections" && other.id == "rate" && a.Load == b.Load
		return other.id != axis.id && !follows && math.Abs(d.at(other, a)-d.at(other, b)) > 1e-6*d.at(other, a)
	})
}

// familyName names what the groups of a family have in common. The load that a sweep of rates
// varies may be named by another rate, so it is named only beside sweeps of other loads.
func (d *Digest) familyName(axis sweepAxis, g *Group) string {
	name := d.sweptLoad(g)
	byConnections := axis.id == "rate" && d.LoadOf(g.Load).SweepOf != "" && !d.sweepsOther(name)
	if byConnections {
		name = format.Connections(g.Connections)
	}
	for _, other := range sweepAxes {
		varies := slices.ContainsFunc(d.Groups, func(o *Group) bool { return d.sweptLoad(o) == d.sweptLoad(g) && d.at(other, o) != d.at(other, g) })
		switch {
		case other.id == axis.id || !varies || other.id == "connections" && byConnections:
		case other.id == "rate" && axis.id == "connections" && d.LoadOf(g.Load).SweepOf == "":
			// a rate of each connection follows their number
		case other.id == "rate":
			name += ", " + format.Short(d.at(other, g)) + other.unit
		default:
			name += ", " + format.Short(d.at(other, g)) + " " + other.unit
		}
	}
	return name
}

// sweepsOther reports whether the run has a sweep of another load.
func (d *Digest) sweepsOther(name string) bool {
	return slices.ContainsFunc(d.Plan.Loads, func(l result.Load) bool { return l.SweepOf != "" && l.SweepOf != name })
}

// measure returns what a family is compared by.
func (d *Digest) measure(f sweepFamily) (label string, of func(*Cell) Estimate) {
	if f.groups[0].Pattern == result.Closed {
		return d.Units() + "/s", (*Cell).Rate
	}
	known := slices.ContainsFunc(f.groups, func(g *Group) bool {
		return slices.ContainsFunc(g.Cells, func(c *Cell) bool { return c.PerMessage.Mean > 0 })
	})
	if known {
		return "CPU, µs per " + d.Unit(), func(c *Cell) Estimate { return c.PerMessage }
	}
	return "p99, ms", func(c *Cell) Estimate {
		return Estimate{Mean: c.Millis(P99), Low: math.NaN(), High: math.NaN(), N: 1}
	}
}

func (d *Digest) sweepFigure(f sweepFamily) *figure.Figure {
	label, of := d.measure(f)
	x := f.unit
	if f.id == "rate" {
		x = "offered " + d.Units() + "/s"
	}
	return figure.Lines{Name: "sweep-" + f.id + "-" + d.Tag(f.groups[0]), Title: format.Upper(label) + " by " + f.id + ": " + f.name, Desc: "One curve for each subject.",
		X: figure.Axis{Label: x, Log: true, At: f.values}, Y: figure.Axis{Label: label, Zero: true},
		Curves: d.Curves(func(g *Group, c *Cell) (figure.XY, bool) {
			if !slices.Contains(f.groups, g) || len(c.Trials) == 0 {
				return figure.XY{}, false
			}
			e, at := of(c), d.at(f.sweepAxis, g)
			return figure.XY{X: at, Y: e.Mean, Low: e.Low, High: e.High, Hover: fmt.Sprintf("%s, %s %s: %s", c.Subject, format.Short(at), x, e)}, true
		})}.Draw()
}

// sweepTable has a row for each subject and a column for each value.
func (d *Digest) sweepTable(f sweepFamily) *Table {
	label, of := d.measure(f)
	t := &Table{Caption: format.Upper(label) + ", and p99 in ms, by " + f.id + ": " + f.name, Align: "l", Head: []string{"Subject"}}
	for _, v := range f.values {
		head := format.Short(v) + " " + f.unit
		if f.id == "rate" {
			head = format.Short(v) + f.unit
		}
		t.AddColumn(head, 'r')
	}
	for _, subject := range d.Names {
		row := []string{subject}
		for _, g := range f.groups {
			cell := format.Absent
			if c := g.MeasuredCell(subject); c != nil {
				cell = format.Sig(of(c).Mean) + " / " + format.Sig(c.Millis(P99))
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}
