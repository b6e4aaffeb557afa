package figure

import "slices"

// Dot is a mark in a row.
type Dot struct {
	X, Low, High float64 // equal ends draw no interval
	Up           float64 // -1 to 1: where in the height of the row
	Shape        Shape
	Role         Role
	Hollow       bool
	Hover        string
}

// Row is a line of a chart: a name, a note at its right, and dots below them.
type Row struct {
	Name, Note string
	Role       Role // of the name
	Dots       []Dot
}

// Key explains a marker above the chart.
type Key struct {
	Text   string
	Shape  Shape
	Role   Role
	Hollow bool
}

// Rows is a chart with one row for each thing compared and values along x. Names stand above their
// dots, so that long ones need no margin and the chart stays readable on a phone.
type Rows struct {
	Name, Title, Desc string
	X                 Axis
	Rows              []Row
	Keys              []Key
	Mark              []float64 // values with a line from top to bottom, such as a ratio of 1
	// values with a band between them, such as the margin of equivalence
	Between [2]float64
}

const (
	rowHeight  = 36.0
	nameHeight = 17.0 // of a row, above its dots
	sideSpace  = 8.0
	keyHeight  = 16.0
	// between the chart's edge and its scale, so that names do not run into the axis
	inset = 10.0
)

// Draw lays the chart out.
func (c Rows) Draw() *Figure {
	var values []float64
	values = append(values, c.Mark...)
	for _, r := range c.Rows {
		for _, d := range r.Dots {
			values = append(values, d.X)
			if d.Low < d.High && c.X.usable(d.Low) && c.X.usable(d.High) {
				values = append(values, d.Low, d.High)
			}
		}
	}
	f := &Figure{Name: c.Name, Title: c.Title, Desc: c.Desc, Width: chartWidth, Data: c.data()}
	top := f.keys(c.Keys, 0)
	bottom := top + rowHeight*float64(max(len(c.Rows), 1)) + 6
	f.Height = bottom + footSpace
	x := scaleOf(c.X, slices.Clip(values), 5, sideSpace+inset, chartWidth-sideSpace-inset)
	f.backdrop(c, x, top, bottom)
	for i, r := range c.Rows {
		f.row(r, x, top+rowHeight*float64(i))
	}
	return f
}

// keys sets a legend below top in as many lines as it needs and returns where it ends.
func (f *Figure) keys(keys []Key, top float64) float64 {
	if len(keys) == 0 {
		return top + 4
	}
	at := Point{sideSpace, top + 12}
	for _, k := range keys {
		w := textWidth(k.Text, textSize) + 30
		if at.X+w > chartWidth && at.X > sideSpace {
			at = Point{sideSpace, at.Y + keyHeight}
		}
		f.add(Marker{At: Point{at.X + 4, at.Y - 4}, Shape: k.Shape, Size: 3.8, Role: k.Role, Hollow: k.Hollow},
			Label{At: Point{at.X + 13, at.Y}, Text: fit(k.Text, textSize, chartWidth-60), Size: textSize, Role: Ink})
		at.X += w
	}
	return at.Y + 10
}

// backdrop draws what stands behind the rows: the band, the grid, the axis and its name.
func (f *Figure) backdrop(c Rows, x scale, top, bottom float64) {
	if c.Between[0] < c.Between[1] {
		a, b := x.inside(c.Between[0]), x.inside(c.Between[1])
		f.add(Rect{Point{a, top}, b - a, bottom - top, Band})
	}
	for _, t := range x.ticks {
		f.posts(x.place(t), top, len(c.Rows), Grid, 0.8)
	}
	for _, m := range c.Mark {
		f.posts(x.inside(m), top, len(c.Rows), Muted, 1.2)
	}
	f.add(Line{[]Point{{sideSpace, bottom}, {chartWidth - sideSpace, bottom}}, Muted, 1, nil})
	f.below(x, bottom)
}

// posts draws an upright line through the rows, but not through their names.
func (f *Figure) posts(x, top float64, rows int, r Role, width float64) {
	for i := range rows {
		y := top + rowHeight*float64(i)
		f.add(Line{[]Point{{x, y + nameHeight}, {x, y + rowHeight}}, r, width, nil})
	}
}

func (f *Figure) row(r Row, x scale, top float64) {
	note := fit(r.Note, textSize, chartWidth/2)
	room := chartWidth - 2*sideSpace - textWidth(note, textSize) - 12
	f.add(Label{At: Point{sideSpace, top + 13}, Text: fit(r.Name, textSize, room), Size: textSize, Role: r.Role},
		Label{At: Point{chartWidth - sideSpace, top + 13}, Text: note, Size: textSize, Role: Muted, Anchor: End})
	middle := top + 26
	f.add(Line{[]Point{{sideSpace, top + rowHeight}, {chartWidth - sideSpace, top + rowHeight}}, Grid, 0.8, nil})
	for _, d := range r.Dots {
		if !x.axis.usable(d.X) {
			continue
		}
		at := middle + 5*min(max(d.Up, -1), 1)
		if d.Low < d.High && x.axis.usable(d.Low) && x.axis.usable(d.High) {
			f.whisker(d.Role, Point{x.place(d.Low), at}, Point{x.place(d.High), at})
		}
		f.add(Marker{At: Point{x.place(d.X), at}, Shape: d.Shape, Size: 3.8, Role: d.Role, Hollow: d.Hollow, Hover: d.Hover})
	}
}
