package figure

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
)

// pdfWriter writes marks onto a page.
type pdfWriter struct{ *fpdf.Fpdf }

// PDF is the figure as a document of one page of its size, in the light theme. The same figure
// gives the same bytes.
func (f *Figure) PDF() ([]byte, error) {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: f.Width, Ht: f.Height}})
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetCatalogSort(true)
	doc.SetTitle(Clean(f.Title), true)
	doc.SetSubject(Clean(f.Desc), true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	doc.AddPage()
	doc.SetLineJoinStyle("round")
	w := &pdfWriter{doc}
	for _, m := range f.Marks {
		m.pdf(w)
	}
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		return nil, fmt.Errorf("cannot draw figure %s as PDF: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

func (w *pdfWriter) pen(r Role, width float64, dash []float64) {
	c := light[r]
	w.SetDrawColor(int(c.r), int(c.g), int(c.b))
	w.SetLineWidth(width)
	if dash == nil {
		dash = []float64{}
	}
	w.SetDashPattern(dash, 0)
}

func (w *pdfWriter) brush(r Role) {
	c := light[r]
	w.SetFillColor(int(c.r), int(c.g), int(c.b))
	w.SetTextColor(int(c.r), int(c.g), int(c.b))
}

func (l Line) pdf(w *pdfWriter) {
	if len(l.Points) < 2 {
		return
	}
	w.pen(l.Role, l.Width, l.Dash)
	for i, p := range l.Points {
		if i == 0 {
			w.MoveTo(finite(p.X), finite(p.Y))
		} else {
			w.LineTo(finite(p.X), finite(p.Y))
		}
	}
	w.DrawPath("D")
}

func (m Marker) pdf(w *pdfWriter) {
	style := "F"
	if m.Hollow {
		style = "D"
	}
	w.brush(m.Role)
	w.pen(m.Role, 1.4, nil)
	x, y, s := finite(m.At.X), finite(m.At.Y), m.Size
	switch m.Shape {
	case Circle:
		w.Circle(x, y, s, style)
	case Cross:
		w.Fpdf.Line(x-s, y-s, x+s, y+s)
		w.Fpdf.Line(x-s, y+s, x+s, y-s)
	default:
		var corners []fpdf.PointType
		for _, p := range m.corners() {
			corners = append(corners, fpdf.PointType{X: finite(p.X), Y: finite(p.Y)})
		}
		w.Polygon(corners, style)
	}
}

func (l Label) pdf(w *pdfWriter) {
	w.brush(l.Role)
	w.SetFont("sans", "", l.Size)
	text := basic(Clean(l.Text))
	shift := []float64{0, 0.5, 1}[l.Anchor] * w.GetStringWidth(text)
	w.Text(finite(l.At.X-shift), finite(l.At.Y), text)
}

func (r Rect) pdf(w *pdfWriter) {
	w.brush(r.Role)
	w.Rect(finite(r.At.X), finite(r.At.Y), finite(r.Width), finite(r.Height), "F")
}

// basic replaces characters beyond the basic plane, for which the PDF writer has no table.
func basic(s string) string {
	r := []rune(s)
	for i := range r {
		if r[i] > 0xFFFF {
			r[i] = '?'
		}
	}
	return string(r)
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
