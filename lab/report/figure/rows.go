package figure

import "slices"

// Dot is a value in a row.
type Dot struct {
	X, Low, High float64 // an interval is drawn only if Low < High
	Up           float64 // vertical place in the row, from -1 to 1
	Shape        Shape
	Role         Role
	Hollow       bool
	Hover        string // tooltip
}

// SeriesDot returns a dot of the i-th series.
func SeriesDot(i int, x float64, hover string) Dot {
	return Dot{X: x, Shape: ShapeOf(i), Role: Series(i), Hover: hover}
}

// Row is a row of a chart: a name, a note at the right, and dots below them.
type Row struct {
	Name, Note string
	Role       Role // of the name
	Dots       []Dot
}

// Key explains a marker in the legend above the chart.
type Key struct {
	Text   string
	Shape  Shape
	Role   Role
	Hollow bool
}

// Rows is a chart with one row for each item and values along x. Names are above their dots: long
// ones need no margin, and the chart is readable on a phone.
type Rows struct {
	Name, Title, Desc string
	X                 Axis
	Rows              []Row
	Keys              []Key
	Mark              []float64 // values with a vertical line, such as a ratio of 1
	// ends of a band, such as the equivalence margin; equal: no band
	Between [2]float64
}

// Measures of a chart of rows, in points.
const (
	rowHeight  = 36.0 // of a row with one line of text
	nameHeight = 17.0 // of the last line of text, above the dots
	lineHeight = 15.0 // of each further line of text
	sideSpace  = 8.0
	keyHeight  = 16.0
	// between the chart's edge and the ends of its scale
	inset = 10.0
)

// Draw lays the chart out. It returns nil without rows.
func (c Rows) Draw() *Figure {
	if len(c.Rows) == 0 {
		return nil
	}
	values := slices.Clone(c.Mark)
	for _, r := range c.Rows {
		for _, d := range r.Dots {
			values = append(values, d.X)
			if c.X.spans(d.Low, d.High) {
				values = append(values, d.Low, d.High)
			}
		}
	}
	f := &Figure{Name: c.Name, Title: c.Title, Desc: c.Desc, Width: chartWidth, Data: c.data()}
	top := f.keys(c.Keys, 0)
	boxes, bottom := boxesOf(c.Rows, top)
	bottom += 6
	f.Height = bottom + footSpace
	x := scaleOf(c.X, slices.Clip(values), 5, sideSpace+inset, chartWidth-sideSpace-inset)
	f.backdrop(c, x, boxes, top, bottom)
	for i, r := range c.Rows {
		f.row(r, boxes[i], x)
	}
	return f
}

// box is the place of a row: its text lines from top on, its dots between middle and bottom.
type box struct {
	lines               []string // of the name
	note                string   // at the right of the last line
	top, middle, bottom float64
}

// boxesOf places rows below top, and returns where they end. Text that is too long for one line is
// wrapped, never cut.
func boxesOf(rows []Row, top float64) (boxes []box, bottom float64) {
	for _, r := range rows {
		b := box{lines: wrap(r.Name, textSize, chartWidth-2*sideSpace), note: r.Note, top: top}
		if last := b.lines[len(b.lines)-1]; roomFor(last, textSize)+roomFor(r.Note, textSize)+12 > chartWidth-2*sideSpace {
			notes := wrap(r.Note, textSize, chartWidth-2*sideSpace)
			b.lines, b.note = append(b.lines, notes[:len(notes)-1]...), notes[len(notes)-1]
			b.lines = append(b.lines, "")
		}
		b.middle = top + nameHeight + lineHeight*float64(len(b.lines)-1)
		b.bottom = b.middle + rowHeight - nameHeight
		boxes, top = append(boxes, b), b.bottom
	}
	return boxes, top
}

// keys draws a legend below top, in as many lines as it needs, and returns where it ends.
func (f *Figure) keys(keys []Key, top float64) float64 {
	if len(keys) == 0 {
		return top + 4
	}
	at := Point{sideSpace, top + 12}
	for _, k := range keys {
		w := roomFor(k.Text, textSize) + 30
		if at.X+w > chartWidth && at.X > sideSpace {
			at = Point{sideSpace, at.Y + keyHeight}
		}
		f.add(Marker{At: Point{at.X + 4, at.Y - 4}, Shape: k.Shape, Size: 3.8, Role: k.Role, Hollow: k.Hollow})
		for n, line := range wrap(k.Text, textSize, chartWidth-2*sideSpace-13) {
			if n > 0 {
				at.Y += lineHeight
			}
			f.add(Label{At: Point{at.X + 13, at.Y}, Text: line, Size: textSize, Role: Ink})
		}
		at.X += w
	}
	return at.Y + 10
}

// backdrop draws the background of the rows: the band, the grid, the axis and its label.
func (f *Figure) backdrop(c Rows, x scale, boxes []box, top, bottom float64) {
	if c.Between[0] < c.Between[1] {
		a, b := x.inside(c.Between[0]), x.inside(c.Between[1])
		f.add(Rect{Point{a, top}, b - a, bottom - top, Band})
	}
	for _, t := range x.ticks {
		f.posts(x.place(t), boxes, Grid, 0.8)
	}
	for _, m := range c.Mark {
		f.posts(x.inside(m), boxes, Muted, 1.2)
	}
	f.add(Line{[]Point{{sideSpace, bottom}, {chartWidth - sideSpace, bottom}}, Muted, 1, nil})
	f.below(x, bottom)
}

// posts draws a vertical line through the dots of all rows, but not through their text.
func (f *Figure) posts(x float64, boxes []box, r Role, width float64) {
	for _, b := range boxes {
		f.add(Line{[]Point{{x, b.middle}, {x, b.bottom}}, r, width, nil})
	}
}

// row draws a row's text, its dots and their intervals.
func (f *Figure) row(r Row, b box, x scale) {
	for i, line := range b.lines {
		f.add(Label{At: Point{sideSpace, b.top + 13 + lineHeight*float64(i)}, Text: line, Size: textSize, Role: r.Role})
	}
	f.add(Label{At: Point{chartWidth - sideSpace, b.middle - nameHeight + 13}, Text: b.note, Size: textSize, Role: Muted, Anchor: End})
	middle := b.middle + 9
	f.add(Line{[]Point{{sideSpace, b.bottom}, {chartWidth - sideSpace, b.bottom}}, Grid, 0.8, nil})
	for _, d := range r.Dots {
		if !x.axis.usable(d.X) {
			continue
		}
		at := middle + 5*min(max(d.Up, -1), 1)
		if x.axis.spans(d.Low, d.High) {
			f.whisker(d.Role, Point{x.place(d.Low), at}, Point{x.place(d.High), at})
		}
		f.add(Marker{At: Point{x.place(d.X), at}, Shape: d.Shape, Size: 3.8, Role: d.Role, Hollow: d.Hollow, Hover: d.Hover})
	}
}
