package figure

import (
	"math"
	"strconv"
)

// Data is what a chart shows, as a table, for those who cannot see its marks or point at them.
type Data struct {
	Head []string // empty for a chart without numbers to tell, such as one of dense curves
	Rows [][]string
}

func (d *Data) add(cells ...string) { d.Rows = append(d.Rows, cells) }

// trim drops the last column when no row says anything in it, and the heading when there is no row.
func (d Data) trim() Data {
	if len(d.Rows) == 0 {
		return Data{}
	}
	last := len(d.Head) - 1
	for _, r := range d.Rows {
		if r[last] != "" {
			return d
		}
	}
	d.Head = d.Head[:last]
	for i, r := range d.Rows {
		d.Rows[i] = r[:last]
	}
	return d
}

// data tells every point of the curves, save of dense ones.
func (c Lines) data(curves []Curve) Data {
	d := Data{Head: []string{"Curve", c.X.Label, c.Y.Label, "Interval"}}
	for _, cv := range curves {
		if cv.Plain {
			continue
		}
		for _, p := range cv.Points {
			interval := ""
			if p.ranged(c.Y) {
				interval = number(p.Low) + " to " + number(p.High)
			}
			d.add(cv.Name, c.X.nameAt(p.X), number(p.Y), interval)
		}
	}
	return d.trim()
}

// data tells every dot: a column for each key where there are keys, else a line for each dot.
func (c Rows) data() Data {
	if len(c.Keys) > 0 {
		return c.keyed()
	}
	d := Data{Head: []string{"Row", c.X.Label, "Interval"}}
	for _, r := range c.Rows {
		for _, dot := range r.Dots {
			if !c.X.usable(dot.X) {
				continue
			}
			interval := ""
			if dot.Low < dot.High && c.X.usable(dot.Low) && c.X.usable(dot.High) {
				interval = number(dot.Low) + " to " + number(dot.High)
			}
			d.add(r.Name, number(dot.X), interval)
		}
	}
	return d.trim()
}

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

// nameAt is the name of the axis's tick at v, else its number.
func (a Axis) nameAt(v float64) string {
	for i, at := range a.At {
		if at == v {
			return a.nameOf(i)
		}
	}
	return number(v)
}

// number writes v with three significant digits, whole numbers in full.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
