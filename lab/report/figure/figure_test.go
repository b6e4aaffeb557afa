package figure

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// luminance is WCAG 2's relative luminance.
func luminance(c colour) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

func contrast(a, b colour) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestPaletteHasEnoughContrast: "text … has a contrast ratio of at least 4.5:1" (WCAG 2.1, 1.4.3).
// Names of curves and rows are set in their colours, so every series is text; what a page sets on a
// band is Ink, Muted and links, which have the colour of the first series.
func TestPaletteHasEnoughContrast(t *testing.T) {
	const least = 4.5
	for name, theme := range map[string]map[Role]colour{"light": light, "dark": dark} {
		for r := Ink; r < series+seriesRoles; r++ {
			if r == Grid || r == Paper || r == Band {
				continue
			}
			if got := contrast(theme[r], theme[Paper]); got < least {
				t.Errorf("%s: role %d has a contrast of %.2f to the paper, want %.1f", name, r, got, least)
			}
			if got := contrast(theme[r], theme[Band]); got < least && (r <= Muted || r == series) {
				t.Errorf("%s: role %d has a contrast of %.2f to a band, want %.1f", name, r, got, least)
			}
		}
	}
}

// TestSeriesLookDifferent: no two of 48 series share both colour and shape.
func TestSeriesLookDifferent(t *testing.T) {
	type look struct {
		r Role
		s Shape
	}
	seen := map[look]int{}
	for i := range 48 {
		l := look{Series(i), ShapeOf(i)}
		if j, ok := seen[l]; ok {
			t.Errorf("series %d looks like series %d, want another colour or shape", i, j)
		}
		seen[l] = i
	}
}

// TestSpreadKeepsLabelsApart: sorted labels come out in order, apart, and within their bounds where
// they fit.
func TestSpreadKeepsLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(rapid.Float64Range(0, 200), 1, 15).Draw(t, "at")
		slices.Sort(at)
		spreadApart(at, 13, 0, 200)
		for i := range at {
			if at[i] < -1e-9 || at[i] > 200+1e-9 {
				t.Fatalf("label %d is at %v, want it between 0 and 200", i, at[i])
			}
			if i > 0 && at[i]-at[i-1] < 13-1e-9 {
				t.Fatalf("labels %d and %d are at %v and %v, want them at least 13 apart", i-1, i, at[i-1], at[i])
			}
		}
	})
}

// TestScaleHoldsItsValues: every usable value lies between the ends, and ticks stand inside, in
// order, not too many.
func TestScaleHoldsItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(-1e6, 1e6)).Draw(t, "values")
		a := Axis{Log: rapid.Bool().Draw(t, "log"), Zero: rapid.Bool().Draw(t, "zero")}
		s := scaleOf(a, values, 5, 0, 100)
		for _, v := range values {
			if p := s.place(v); a.usable(v) && (p < -1e-6 || p > 100+1e-6) {
				t.Fatalf("%v is at %v, want it between 0 and 100", v, p)
			}
		}
		if len(s.ticks) > 20 || !slices.IsSorted(s.ticks) {
			t.Fatalf("got the ticks %v, want at most 20, in order", s.ticks)
		}
	})
}

// TestWrapKeepsAllText checks that lines fit the width and together have all words.
func TestWrapKeepsAllText(t *testing.T) {
	if got := wrap("c-fork", 11, 100); !slices.Equal(got, []string{"c-fork"}) {
		t.Errorf("got %q, want one line", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9 ,-]{0,120}`).Draw(t, "text")
		lines := wrap(text, 11, 100)
		for _, l := range lines {
			if textWidth(l, 11) > 100 {
				t.Fatalf("got the line %q of %v points, want at most 100", l, textWidth(l, 11))
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestTheLastTickIsLabelled checks that labels of an x axis do not overlap and include the last
// one.
func TestTheLastTickIsLabelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfNDistinct(rapid.IntRange(1, 100_000), 1, 12, rapid.ID).Draw(t, "ticks")
		slices.Sort(at)
		a := Axis{Log: rapid.Bool().Draw(t, "log")}
		for _, v := range at {
			a.At = append(a.At, float64(v))
		}
		f := Lines{X: a, Curves: []Curve{{Name: "a", Points: []XY{{X: a.At[0], Y: 1}}}}}.Draw()
		var names []string
		for _, l := range texts(f) {
			if l.Anchor == Middle && l.Size == tickSize {
				names = append(names, l.Text)
			}
		}
		if want := tickName(a.At[len(a.At)-1]); len(names) == 0 || names[len(names)-1] != want {
			t.Fatalf("got the labels %q, want %s as the last", names, want)
		}
	})
}

// TestCleanKeepsTextOnOneLine: neither control characters nor broken UTF-8 nor bidirectional
// overrides pass.
func TestCleanKeepsTextOnOneLine(t *testing.T) {
	if got, want := Clean("a\x1b[31m\n\x00b\xff\u202e\u2028c µ日"), "a [31m  b   c µ日"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSVGAndPDFAreTheSameEachTime: the same description gives the same bytes each time, as SVG and
// as PDF.
func TestSVGAndPDFAreTheSameEachTime(t *testing.T) {
	f := Lines{Name: "x", Title: "title <1>", Desc: "description", X: Axis{Label: "x µs"}, Y: Axis{Label: "y", Zero: true},
		Curves: []Curve{{Name: "a & b", Points: []XY{{1, 2, 1, 3, "hover <here>"}, {2, math.NaN(), 0, 0, ""}, {3, 4, 4, 4, ""}}}}}.Draw()
	if !bytes.Contains(f.SVG(), []byte("hover &lt;here&gt;")) || !bytes.Equal(f.SVG(), f.SVG()) {
		t.Errorf("the SVG lacks the hover text or changes, want it escaped and the same each time:\n%s", f.SVG())
	}
	a, err := f.PDF()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := f.PDF(); !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("%PDF-")) {
		t.Error("the PDF changes from one drawing to the next, or has no PDF header; want the same valid one")
	}
}

// texts is the labels of a figure.
func texts(f *Figure) []Label {
	var out []Label
	for _, m := range f.Marks {
		if l, ok := m.(Label); ok {
			out = append(out, l)
		}
	}
	return out
}

// TestTextStaysInsideTheFigure checks that no label is cut off, for any names and ends of curves
// and of rows.
func TestTextStaysInsideTheFigure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Lines{X: Axis{Label: "seconds since the measured window began"}, Y: Axis{Label: "standard deviation / mean of CPU"}}
		for range rapid.IntRange(1, 8).Draw(t, "curves") {
			c.Curves = append(c.Curves, Curve{Name: rapid.StringMatching(`[a-z0-9, -]{1,60}`).Draw(t, "name"),
				Points: []XY{{X: 1, Y: rapid.Float64Range(0, 1e5).Draw(t, "y")}, {X: 64, Y: 2}}})
		}
		r := Rows{X: c.X, Keys: legendOf(c.Curves)}
		for _, curve := range c.Curves {
			r.Rows = append(r.Rows, Row{Name: curve.Name, Note: rapid.StringMatching(`[a-z0-9, -]{0,80}`).Draw(t, "note"), Dots: []Dot{{X: curve.Points[0].Y}}})
		}
		f := rapid.SampledFrom([]*Figure{c.Draw(), r.Draw()}).Draw(t, "figure")
		for _, l := range texts(f) {
			width := textWidth(l.Text, l.Size)
			left := l.At.X - []float64{0, 0.5, 1}[l.Anchor]*width
			if left < -1 || left+width > f.Width+1 || l.At.Y > f.Height {
				t.Fatalf("got %q from %.0f to %.0f at the height %.0f, want it inside a figure of %.0f by %.0f", l.Text, left, left+width, l.At.Y, f.Width, f.Height)
			}
		}
	})
}

// TestDataTellsWhatIsDrawn: every point that can be seen stands in the table with its interval,
// dense curves and points that have no place on the axes do not; rows with keys have a column for
// each key.
func TestDataTellsWhatIsDrawn(t *testing.T) {
	lines := Lines{X: Axis{Label: "arrivals", At: []float64{0, 1}, Names: []string{"staggered", "together"}}, Y: Axis{Label: "CPU"},
		Curves: []Curve{{Name: "a", Points: []XY{{0, 10.51, 9, 12, ""}, {1, 123456, 0, 0, ""}, {0, math.NaN(), 0, 0, ""}}},
			{Name: "dense", Plain: true, Points: []XY{{X: 0, Y: 1}}}}}
	rows := Rows{X: Axis{Label: "times"}, Keys: []Key{{Text: "first", Shape: Circle}, {Text: "second", Shape: Square}},
		Rows: []Row{{Name: "b", Dots: []Dot{{X: 1.5, Shape: Square}}}}}
	plain := Rows{X: Axis{Label: "times"}, Rows: []Row{{Name: "c", Dots: []Dot{{X: 2}}}}}
	for _, c := range []struct {
		got  Data
		want [][]string
	}{
		{lines.Draw().Data, [][]string{{"Curve", "arrivals", "CPU", "Interval"}, {"a", "staggered", "10.5", "9 to 12"}, {"a", "together", "123,456", ""}}},
		{rows.Draw().Data, [][]string{{"Row", "first", "second"}, {"b", "", "1.5"}}},
		{plain.Draw().Data, [][]string{{"Row", "times"}, {"c", "2"}}},
		{Lines{Curves: lines.Curves[1:]}.Draw().Data, [][]string{nil}},
	} {
		if got := append([][]string{c.got.Head}, c.got.Rows...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

// TestIntervalsDoNotCoverOneAnother: curves with intervals stand side by side where they share an
// x, in their order; without intervals they stay in place.
func TestIntervalsDoNotCoverOneAnother(t *testing.T) {
	places := func(low, high float64) (x []float64) {
		point := XY{X: 8, Y: 2, Low: low, High: high}
		f := Lines{Curves: []Curve{{Name: "a", Points: []XY{point}}, {Name: "b", Points: []XY{point}}}}.Draw()
		for _, m := range f.Marks {
			if m, ok := m.(Marker); ok {
				x = append(x, m.At.X)
			}
		}
		return x
	}
	if x := places(1, 3); len(x) != 2 || x[1]-x[0] < 3 {
		t.Errorf("two markers with intervals are at %v, want them at least 3 apart", x)
	}
	if x := places(0, 0); len(x) != 2 || x[0] != x[1] {
		t.Errorf("two markers without intervals are at %v, want them at one place", x)
	}
}
