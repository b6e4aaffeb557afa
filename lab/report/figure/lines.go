package figure

import (
	"cmp"
	"math"
	"slices"
)

// XY is a point of a curve. Its interval is drawn only if Low < High.
type XY struct {
	X, Y, Low, High float64
	Hover           string // tooltip of the marker; empty: none
}

// Curve is a line of a chart.
type Curve struct {
	Name   string
	Style  int // number of the series, for colour, shape and dash
	Points []XY
	Plain  bool // a dense curve: only its last point has a marker
	Quiet  bool // a reference, such as published figures: grey and dashed
	Hollow bool // less reliable than the others: markers are rings

	shift float64 // of its points to the right, in points
}

// Lines is a chart of curves over a common x axis. Each is labelled at its end, or in a legend
// below if a name is too long for that.
type Lines struct {
	Name, Title, Desc string
	X, Y              Axis
	Curves            []Curve
	Height            float64 // 0 means 280
}

// Measures of a chart in points. A phone of 360 points shows it at its own size, a wide screen
// three side by side.
const (
	chartWidth = 328.0
	textSize   = 12.0
	tickSize   = 11.0
	nameRoom   = 120.0 // for a name at the end of its curve
	leftSpace  = 46.0  // at least; wide tick labels need more
	topSpace   = 26.0
	footSpace  = 40.0
)

// Draw lays the chart out. It returns nil without a point that can be drawn.
func (c Lines) Draw() *Figure {
	curves := c.drawable()
	if len(curves) == 0 {
		return nil
	}
	height := max(c.Height, 280, float64(len(c.Curves))*13+topSpace+footSpace+10)
	f := &Figure{Name: c.Name, Title: c.Title, Desc: c.Desc, Width: chartWidth, Height: height, Data: c.data(curves)}
	legend, right := tooLong(curves), sideSpace
	for _, cv := range curves {
		if !legend {
			right = max(right, roomFor(cv.Name, textSize)+18)
		}
	}
	xs, ys := c.values(curves)
	room := shiftApart(curves, c.Y)
	y := scaleOf(c.Y, ys, 5, height-footSpace, topSpace)
	x := scaleOf(c.X, xs, 5, y.labelRoom()+room, chartWidth-right-room)
	f.frame(x, y, room)
	for _, cv := range curves {
		f.curve(cv, x, y)
	}
	if legend {
		f.Height = f.keys(legendOf(curves), height+4)
	} else {
		f.endLabels(curves, x, y, room)
	}
	return f
}

// labelRoom returns the width to leave for the labels of the ticks of a y axis.
func (s *scale) labelRoom() float64 {
	left := leftSpace
	for i := range s.ticks {
		left = max(left, roomFor(s.name(i), tickSize)+8)
	}
	return left
}

// values returns the values on both axes, with the ends of intervals.
func (c Lines) values(curves []Curve) (xs, ys []float64) {
	for _, cv := range curves {
		for _, p := range cv.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if c.Y.spans(p.Low, p.High) {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	return xs, ys
}

// shiftApart shifts curves horizontally so that their intervals do not overlap, and returns the
// largest shift.
func shiftApart(curves []Curve, y Axis) float64 {
	ranged := func(c Curve) bool {
		return slices.ContainsFunc(c.Points, func(p XY) bool { return y.spans(p.Low, p.High) })
	}
	if !slices.ContainsFunc(curves, ranged) {
		return 0
	}
	step := min(3.5, 24/float64(len(curves)))
	for i := range curves {
		curves[i].shift = (float64(i) - float64(len(curves)-1)/2) * step
	}
	return step * float64(len(curves)-1) / 2
}

// shifted returns the scale moved by a curve's shift.
func (s scale) shifted(c Curve) scale {
	s.from, s.to = s.from+c.shift, s.to+c.shift
	return s
}

// tooLong reports whether a name does not fit at the end of its curve.
func tooLong(curves []Curve) bool {
	return slices.ContainsFunc(curves, func(c Curve) bool { return roomFor(c.Name, textSize) > nameRoom })
}

// legendOf returns the legend of curves.
func legendOf(curves []Curve) []Key {
	keys := make([]Key, len(curves))
	for i, c := range curves {
		keys[i] = Key{Text: c.Name, Shape: ShapeOf(c.Style), Role: c.role(), Hollow: c.Quiet || c.Hollow}
	}
	return keys
}

func (c Curve) role() Role {
	if c.Quiet {
		return Muted
	}
	return Series(c.Style)
}

// drawable returns the curves with only the points that can be placed on the axes, in order of X,
// and without empty curves.
func (c Lines) drawable() []Curve {
	var out []Curve
	for _, cv := range c.Curves {
		cv.Points = slices.DeleteFunc(slices.Clone(cv.Points), func(p XY) bool { return !c.X.usable(p.X) || !c.Y.usable(p.Y) })
		slices.SortStableFunc(cv.Points, func(a, b XY) int { return cmp.Compare(a.X, b.X) })
		if len(cv.Points) > 0 {
			out = append(out, cv)
		}
	}
	return out
}

// frame draws the axes with ticks and labels, and room beyond both ends of x. The label of the y
// axis is above it.
func (f *Figure) frame(x, y scale, room float64) {
	left, right := x.from-room, x.to+room
	for i, t := range y.ticks {
		at := y.place(t)
		f.add(Line{[]Point{{left, at}, {right, at}}, Grid, 0.8, nil},
			Label{At: Point{left - 6, at + 3.5}, Text: y.name(i), Size: tickSize, Role: Muted, Anchor: End})
	}
	for _, t := range x.ticks {
		at := x.place(t)
		f.add(Line{[]Point{{at, y.from}, {at, y.from + 4}}, Muted, 0.8, nil})
	}
	f.below(x, y.from)
	f.add(Line{[]Point{{left, y.from}, {right, y.from}}, Muted, 1, nil},
		Label{At: Point{4, 13}, Text: y.axis.Label, Size: textSize, Role: Ink})
}

// below labels an x axis and its ticks at the height y. It leaves out tick labels that would touch
// the one before or the last one, which is always drawn.
func (f *Figure) below(x scale, y float64) {
	const gap = 6
	free := math.Inf(-1) // where the next label may start
	last := len(x.ticks) - 1
	place := func(i int) (at, half float64) {
		half = roomFor(x.name(i), tickSize) / 2
		return min(max(x.place(x.ticks[i]), half+1), chartWidth-half-1), half
	}
	for i := range x.ticks {
		at, half := place(i)
		if end, endHalf := place(last); i < last && (at-half < free || at+half+gap > end-endHalf) {
			continue
		}
		free = at + half + gap
		f.add(Label{At: Point{at, y + 16}, Text: x.name(i), Size: tickSize, Role: Muted, Anchor: Middle})
	}
	half := roomFor(x.axis.Label, textSize)/2 + 4
	middle := max(half, min((x.from+x.to)/2, chartWidth-half))
	f.add(Label{At: Point{middle, y + 33}, Text: x.axis.Label, Size: textSize, Role: Ink, Anchor: Middle})
}

func (f *Figure) add(m ...Mark) { f.Marks = append(f.Marks, m...) }

// curve draws a curve with its intervals and markers.
func (f *Figure) curve(c Curve, x, y scale) {
	x = x.shifted(c)
	line := Line{Role: c.role(), Width: 1.8, Dash: DashOf(c.Style)}
	if c.Plain {
		line.Width, line.Dash = 1.2, nil
	}
	if c.Quiet {
		line.Width, line.Dash = 1.2, []float64{3, 3}
	}
	for _, p := range c.Points {
		line.Points = append(line.Points, Point{x.place(p.X), y.place(p.Y)})
	}
	for _, p := range c.Points {
		if y.axis.spans(p.Low, p.High) {
			f.whisker(line.Role, Point{x.place(p.X), y.place(p.Low)}, Point{x.place(p.X), y.place(p.High)})
		}
	}
	f.add(line)
	for i, p := range c.Points {
		if !c.Plain || i == len(c.Points)-1 {
			f.add(Marker{At: line.Points[i], Shape: ShapeOf(c.Style), Size: 3.6, Role: line.Role, Hollow: c.Quiet || c.Hollow, Hover: p.Hover})
		}
	}
}

// whisker draws an interval with caps, vertical or horizontal.
func (f *Figure) whisker(r Role, a, b Point) {
	cap := Point{X: 3}
	if math.Abs(a.Y-b.Y) < 1e-9 {
		cap = Point{Y: 3}
	}
	f.add(Line{[]Point{a, b}, r, 1.1, nil})
	for _, e := range []Point{a, b} {
		f.add(Line{[]Point{{e.X - cap.X, e.Y - cap.Y}, {e.X + cap.X, e.Y + cap.Y}}, r, 1.1, nil})
	}
}

// endLabels labels each curve to the right of its last point. Labels that would overlap are moved
// apart.
func (f *Figure) endLabels(curves []Curve, x, y scale, room float64) {
	type end struct {
		c  Curve
		at Point
		y  float64
	}
	ends := make([]end, len(curves))
	for i, c := range curves {
		p, own := c.Points[len(c.Points)-1], x.shifted(c)
		at := Point{own.place(p.X), y.place(p.Y)}
		ends[i] = end{c, at, at.Y}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	spots := make([]float64, len(ends))
	for i, e := range ends {
		spots[i] = e.y
	}
	spreadApart(spots, 13, y.to-8, y.from)
	for i, e := range ends {
		role := e.c.role()
		edge := x.to + room
		if math.Abs(spots[i]-e.at.Y) > 3 || edge-e.at.X > 3 {
			f.add(Line{[]Point{{e.at.X + 5, e.at.Y}, {edge + 11, spots[i]}}, role, 0.6, nil})
		}
		f.add(Label{At: Point{edge + 13, spots[i] + 4}, Text: e.c.Name, Size: textSize, Role: role})
	}
}

// spreadApart moves sorted places so that they are at least gap apart, and within [low, high] if
// they fit.
func spreadApart(at []float64, gap, low, high float64) {
	for i := range at {
		floor := low
		if i > 0 {
			floor = at[i-1] + gap
		}
		at[i] = max(at[i], floor)
	}
	for i := len(at) - 1; i >= 0; i-- {
		ceiling := high
		if i < len(at)-1 {
			ceiling = at[i+1] - gap
		}
		at[i] = min(at[i], ceiling)
	}
}
