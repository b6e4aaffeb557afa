package figure

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svgWriter writes marks as SVG elements.
type svgWriter struct {
	bytes.Buffer
	fill, stroke func(Role) string // attributes that give a role's colour
}

// SVG is the figure as a document of its own, light or dark as its reader prefers.
func (f *Figure) SVG() []byte {
	w := &svgWriter{
		fill:   func(r Role) string { return fmt.Sprintf(`class="f%d" fill="%s"`, r, light[r].hex()) },
		stroke: func(r Role) string { return fmt.Sprintf(`class="l%d" stroke="%s"`, r, light[r].hex()) },
	}
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n")
	w.open(f, fmt.Sprintf(` width="%s" height="%s"`, num(f.Width), num(f.Height)))
	fmt.Fprintf(w, "<style>@media (prefers-color-scheme:dark){%s}</style>\n", classes(dark))
	Rect{Width: f.Width, Height: f.Height, Role: Paper}.svg(w)
	return w.close(f)
}

// Inline is the figure as an element of a page that sets Variables.
func (f *Figure) Inline() []byte {
	w := &svgWriter{
		fill:   func(r Role) string { return `fill="var(` + variable(r) + `)"` },
		stroke: func(r Role) string { return `stroke="var(` + variable(r) + `)"` },
	}
	w.open(f, "")
	return w.close(f)
}

func classes(theme map[Role]colour) string {
	css := ""
	for r := Ink; r < series+seriesRoles; r++ {
		css += fmt.Sprintf(".f%d{fill:%s}.l%d{stroke:%s}", r, theme[r].hex(), r, theme[r].hex())
	}
	return css
}

func (w *svgWriter) open(f *Figure, size string) {
	id := html.EscapeString(f.Name)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s"%s role="img" aria-labelledby="%s-t %s-d" font-family="Liberation Sans, Arial, Helvetica, sans-serif">`+"\n",
		num(f.Width), num(f.Height), size, id, id)
	fmt.Fprintf(w, "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", id, escape(f.Title), id, escape(f.Desc))
}

func (w *svgWriter) close(f *Figure) []byte {
	for _, m := range f.Marks {
		m.svg(w)
	}
	w.WriteString("</svg>\n")
	return w.Bytes()
}

func (l Line) svg(w *svgWriter) {
	if len(l.Points) < 2 {
		return
	}
	dash := ""
	if len(l.Dash) > 0 {
		dash = ` stroke-dasharray="` + join(l.Dash) + `"`
	}
	fmt.Fprintf(w, `<path d="%s" fill="none" %s stroke-width="%s" stroke-linejoin="round"%s/>`+"\n", path(l.Points), w.stroke(l.Role), num(l.Width), dash)
}

func (m Marker) svg(w *svgWriter) {
	hover := "/>"
	if m.Hover != "" {
		hover = "><title>" + escape(m.Hover) + "</title></path>"
	}
	paint := w.fill(m.Role)
	if m.Hollow || m.Shape == Cross {
		paint = `fill="none" pointer-events="all" stroke-width="1.4" ` + w.stroke(m.Role)
	}
	fmt.Fprintf(w, `<path d="%s" %s%s`+"\n", m.outline(), paint, hover)
}

// outline is the marker as SVG path data.
func (m Marker) outline() string {
	if m.Shape == Circle {
		r := num(m.Size)
		return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0Z", num(m.At.X-m.Size), num(m.At.Y), r, r, num(2*m.Size), r, r, num(2*m.Size))
	}
	if m.Shape == Cross {
		x, y, s := m.At.X, m.At.Y, m.Size
		return path([]Point{{x - s, y - s}, {x + s, y + s}}) + path([]Point{{x - s, y + s}, {x + s, y - s}})
	}
	return path(m.corners()) + "Z"
}

// path is a polyline as SVG path data.
func path(points []Point) string {
	var d strings.Builder
	for i, p := range points {
		d.WriteString(string("ML"[min(i, 1)]) + num(p.X) + " " + num(p.Y))
	}
	return d.String()
}

// corners are those of the shapes that have some, sized so that all look equally large.
func (m Marker) corners() []Point {
	x, y, s := m.At.X, m.At.Y, m.Size
	switch m.Shape {
	case Triangle:
		return []Point{{x, y - 1.2*s}, {x + 1.15*s, y + 0.9*s}, {x - 1.15*s, y + 0.9*s}}
	case Down:
		return []Point{{x, y + 1.2*s}, {x + 1.15*s, y - 0.9*s}, {x - 1.15*s, y - 0.9*s}}
	case Diamond:
		return []Point{{x, y - 1.3*s}, {x + 1.3*s, y}, {x, y + 1.3*s}, {x - 1.3*s, y}}
	}
	a := 0.9 * s
	return []Point{{x - a, y - a}, {x + a, y - a}, {x + a, y + a}, {x - a, y + a}}
}

func (l Label) svg(w *svgWriter) {
	extra := ""
	if l.Anchor != Start {
		extra = ` text-anchor="` + [...]string{"start", "middle", "end"}[l.Anchor] + `"`
	}
	fmt.Fprintf(w, `<text x="%s" y="%s" font-size="%s" %s%s>%s</text>`+"\n", num(l.At.X), num(l.At.Y), num(l.Size), w.fill(l.Role), extra, escape(l.Text))
}

func (r Rect) svg(w *svgWriter) {
	fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`+"\n", num(r.At.X), num(r.At.Y), num(r.Width), num(r.Height), w.fill(r.Role))
}

func escape(s string) string { return html.EscapeString(Clean(s)) }

// num writes a coordinate with a tenth of a point, and 0 for one that is no number.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func join(v []float64) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = num(x)
	}
	return strings.Join(s, " ")
}
