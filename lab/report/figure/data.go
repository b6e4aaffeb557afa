package figure

import (
	"math"
	"slices"
	"strconv"
	"weir/lab/report/format"
)

// Data is the content of a chart as a table, for readers who cannot see the marks or point at them.
type Data struct {
	Head []string // empty: a chart without single values, such as one of dense curves
	Rows [][]string
}

// trim drops the last column if it is empty in all rows, and the heading if there are no rows.
func (d Data) trim() Data {
	if len(d.Rows) == 0 {
		return Data{}
	}
	last := len(d.Head) - 1
	if slices.ContainsFunc(d.Rows, func(r []string) bool { return r[last] != "" }) {
		return d
	}
	d.Head = d.Head[:last]
	for i, r := range d.Rows {
		d.Rows[i] = r[:last]
	}
	return d
}

// interval formats an interval on an axis; empty: it cannot be placed there.
func (a Axis) interval(low, high float64) string {
	if !a.spans(low, high) {
		return ""
	}
	return number(low) + " to " + number(high)
}

// data lists every point of the curves, except those of dense ones.
func (c Lines) data(curves []Curve) Data {
	d := Data{Head: []string{"Curve", c.X.Label, c.Y.Label, "Interval"}}
	for _, cv := range curves {
		for _, p := range cv.Points {
			if !cv.Plain {
				d.Rows = append(d.Rows, []string{cv.Name, c.X.nameAt(p.X), number(p.Y), c.Y.interval(p.Low, p.High)})
			}
		}
	}
	return d.trim()
}

// data lists every dot: a column for each key, or without keys a row for each dot.
func (c Rows) data() Data {
	if len(c.Keys) > 0 {
		return c.keyed()
	}
	d := Data{Head: []string{"Row", c.X.Label, "Interval"}}
	for _, r := range c.Rows {
		for _, dot := range r.Dots {
			if c.X.usable(dot.X) {
				d.Rows = append(d.Rows, []string{r.Name, number(dot.X), c.X.interval(dot.Low, dot.High)})
			}
		}
	}
	return d.trim()
}

// keyed is data for rows with keys.
func (c Rows) keyed() Data {
	d := Data{Head: []string{"Row"}}
	for _, k := range c.Keys {
		d.Head = append(d.Head, k.Text)
	}
	for _, r := range c.Rows {
		cells := make([]string, len(d.Head))
		cells[0] = r.Name
		for _, dot := range r.Dots {
			for i, k := range c.Keys {
				if k.Shape == dot.Shape && k.Role == dot.Role && c.X.usable(dot.X) {
					cells[i+1] = number(dot.X)
				}
			}
		}
		d.Rows = append(d.Rows, cells)
	}
	return d
}

// nameAt returns the label of the axis's tick at v, or the number if there is no tick.
func (a Axis) nameAt(v float64) string {
	if i := slices.Index(a.At, v); i >= 0 {
		return a.nameOf(i)
	}
	return number(v)
}

// number formats v with three significant digits, and from 1,000 on as a whole number with
// thousands separated.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e9 {
		return format.Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
