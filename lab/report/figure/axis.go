package figure

import (
	"math"
	"strconv"
	"weir/lab/report/format"
)

// Axis is one axis of a chart.
type Axis struct {
	Label string // what it shows, with its unit
	Log   bool   // logarithmic; values at or below 0 are left out
	Zero  bool   // a linear axis includes 0
	// ticks, such as the numbers of connections of a run; empty: chosen from the values
	At    []float64
	Names []string // names of the ticks At; empty: their values
}

// scale maps values from min to max of an axis to places from from to to on the figure.
type scale struct {
	axis     Axis
	min, max float64
	from, to float64
	ticks    []float64
	names    []string // of the ticks At of the axis
}

// usable reports whether v can be placed on the axis.
func (a Axis) usable(v float64) bool {
	return !math.IsNaN(v) && math.Abs(v) < 1e15 && (!a.Log || v > 1e-12)
}

// spans reports whether an interval can be placed on the axis.
func (a Axis) spans(low, high float64) bool { return low < high && a.usable(low) && a.usable(high) }

// scaleOf returns a scale that includes the usable values, with about n ticks.
func scaleOf(a Axis, values []float64, n int, from, to float64) scale {
	s := scale{axis: a, min: math.Inf(1), max: math.Inf(-1), from: from, to: to}
	for _, v := range append(values, a.At...) {
		if a.usable(v) {
			s.min, s.max = min(s.min, v), max(s.max, v)
		}
	}
	if s.min > s.max {
		s.min, s.max = 1, 2
	}
	if a.Zero && !a.Log {
		s.min, s.max = min(s.min, 0), max(s.max, 0)
	}
	s.widen()
	for i, v := range a.At {
		if a.usable(v) {
			s.ticks = append(s.ticks, v)
			s.names = append(s.names, a.nameOf(i))
		}
	}
	if len(s.ticks) == 0 {
		s.chooseTicks(n)
	}
	return s
}

// widen makes the range of a scale with one value larger than 0.
func (s *scale) widen() {
	switch {
	case s.max > s.min:
	case s.axis.Log:
		s.min, s.max = s.min/1.5, s.max*1.5
	case s.axis.Zero && s.max == 0:
		s.max = 1
	default:
		room := max(math.Abs(s.min)/10, 0.5)
		s.min, s.max = s.min-room, s.max+room
	}
}

// chooseTicks sets about n ticks at round values, and widens a linear scale to its outer ticks.
func (s *scale) chooseTicks(n int) {
	if s.axis.Log && s.max/s.min >= 3 {
		s.logTicks(n)
		return
	}
	step := niceStep((s.max - s.min) / float64(max(n, 1)))
	first, last := math.Floor(s.min/step), math.Ceil(s.max/step)
	if s.axis.Log {
		first, last = math.Ceil(s.min/step), math.Floor(s.max/step)
	}
	for i := first; i <= last && len(s.ticks) < 50; i++ {
		s.ticks = append(s.ticks, i*step)
	}
	if !s.axis.Log {
		s.min, s.max = first*step, last*step
	}
}

// logTicks sets ticks at 1, 2 and 5 times powers of ten, or fewer if there are many decades.
func (s *scale) logTicks(n int) {
	steps := []float64{1, 2, 5}
	if math.Log10(s.max/s.min)*3 > 1.7*float64(n) {
		steps = steps[:1]
	}
	every := max(1, int(math.Log10(s.max/s.min)/float64(max(n, 1))))
	for d := int(math.Floor(math.Log10(s.min))); d <= int(math.Ceil(math.Log10(s.max))); d += every {
		for _, k := range steps {
			if v := k * math.Pow10(d); v >= s.min*0.999 && v <= s.max*1.001 {
				s.ticks = append(s.ticks, v)
			}
		}
	}
}

// niceStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least v.
func niceStep(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 2, 2.5, 5} {
		if k*p >= v*0.9999 {
			return k * p
		}
	}
	return 10 * p
}

// place returns the place of v on the figure.
func (s *scale) place(v float64) float64 {
	lo, hi := s.min, s.max
	if s.axis.Log {
		v, lo, hi = math.Log(max(v, 1e-12)), math.Log(lo), math.Log(hi)
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// inside is place with v limited to the range of the scale.
func (s *scale) inside(v float64) float64 { return s.place(min(max(v, s.min), s.max)) }

// name returns the label of the i-th tick.
func (s *scale) name(i int) string {
	if i < len(s.names) {
		return s.names[i]
	}
	return tickName(s.ticks[i])
}

// nameOf returns the label of the i-th of the ticks At.
func (a Axis) nameOf(i int) string {
	if i < len(a.Names) {
		return a.Names[i]
	}
	return tickName(a.At[i])
}

// tickName formats the value of a tick, with thousands separated.
func tickName(v float64) string {
	if a := math.Abs(v); a != 0 && (a >= 1e7 || a < 1e-4) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return format.Thousands(strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64))
}
