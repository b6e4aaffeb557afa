package figure

import (
	"bytes"
	"math"
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

// TestPaletteContrast: "graphical objects … a contrast ratio of at least 3:1 against adjacent colors" (WCAG 2.1,
// 1.4.11); the names of curves are set in their colours, and text in Ink and Muted needs 4.5.
func TestPaletteContrast(t *testing.T) {
	for name, theme := range map[string]map[Role]colour{"light": light, "dark": dark} {
		for r := Ink; r < series+seriesRoles; r++ {
			want := 3.0
			switch r {
			case Grid, Paper, Band:
				continue
			case Ink, Muted:
				want = 4.5
			}
			for _, ground := range []Role{Paper, Band} {
				if got := contrast(theme[r], theme[ground]); got < want && (ground == Paper || r <= Muted) {
					t.Errorf("%s: role %d has a contrast of %.2f, want %.1f", name, r, got, want)
				}
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
			t.Errorf("series %d looks like series %d", i, j)
		}
		seen[l] = i
	}
}

// TestSpreadKeepsLabelsApart: sorted labels come out in order, apart, and within their bounds where they fit.
func TestSpreadKeepsLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(rapid.Float64Range(0, 200), 1, 15).Draw(t, "at")
		slices.Sort(at)
		spread(at, 13, 0, 200)
		for i := range at {
			if at[i] < -1e-9 || at[i] > 200+1e-9 {
				t.Fatalf("label %d at %v lies outside", i, at[i])
			}
			if i > 0 && at[i]-at[i-1] < 13-1e-9 {
				t.Fatalf("labels %d and %d at %v and %v overlap", i-1, i, at[i-1], at[i])
			}
		}
	})
}

// TestScaleHoldsItsValues: every usable value lies between the ends, and ticks stand inside, in order, not too many.
func TestScaleHoldsItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(-1e6, 1e6)).Draw(t, "values")
		a := Axis{Log: rapid.Bool().Draw(t, "log"), Zero: rapid.Bool().Draw(t, "zero")}
		s := scaleOf(a, values, 5, 0, 100)
		for _, v := range values {
			if p := s.place(v); a.usable(v) && (p < -1e-6 || p > 100+1e-6) {
				t.Fatalf("%v is placed at %v", v, p)
			}
		}
		if len(s.ticks) > 20 || !slices.IsSorted(s.ticks) {
			t.Fatalf("ticks %v", s.ticks)
		}
	})
}

// TestFitShortensToWidth: long names end in an ellipsis and fit; short ones stay.
func TestFitShortensToWidth(t *testing.T) {
	if got := fit("c-fork", 11, 100); got != "c-fork" {
		t.Errorf("got %q", got)
	}
	if got := fit(strings.Repeat("m", 50), 11, 100); textWidth(got, 11) > 100 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q, %v points wide", got, textWidth(got, 11))
	}
}

// TestCleanKeepsTextOnOneLine: neither control characters nor broken UTF-8 nor bidirectional overrides pass.
func TestCleanKeepsTextOnOneLine(t *testing.T) {
	if got, want := Clean("a\x1b[31m\n\x00b\xff\u202e\u2028c µ日"), "a [31m  b   c µ日"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOneFigureTwoForms: the same description gives the same bytes each time, as SVG and as PDF.
func TestOneFigureTwoForms(t *testing.T) {
	f := Lines{Name: "x", Title: "title <1>", Desc: "description", X: Axis{Label: "x µs"}, Y: Axis{Label: "y", Zero: true},
		Curves: []Curve{{Name: "a & b", Points: []XY{{1, 2, 1, 3, "hover <here>"}, {2, math.NaN(), 0, 0, ""}, {3, 4, 4, 4, ""}}}}}.Draw()
	if !bytes.Contains(f.SVG(), []byte("hover &lt;here&gt;")) || !bytes.Equal(f.SVG(), f.SVG()) {
		t.Errorf("the SVG lacks the hover text or changes:\n%s", f.SVG())
	}
	a, err := f.PDF()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := f.PDF(); !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("%PDF-")) {
		t.Error("the PDF changes from one drawing to the next, or is none")
	}
}
