// Package figure describes a figure once and draws it as SVG and as PDF.
//
// A Figure is a list of marks (lines, shapes, text). The origin is the top left corner and the unit
// is the point. Marks have a Role, not a colour, so that one figure serves a light page, a dark
// page and paper. Charts (Lines, Rows) convert data to marks. Series differ in shape or dash as
// well as in colour. The title, the description and the data as a table serve readers who cannot
// see the figure.
//
// Limitations: text is measured with the metrics of Liberation Sans, which equal those of Arial and
// Helvetica; another font may be a little wider. Right-to-left text is not supported.
package figure

// Figure is a drawing of Width by Height points.
type Figure struct {
	Name   string // file name without extension: [a-z0-9-]+
	Title  string // a phrase
	Desc   string // text alternative
	Width  float64
	Height float64
	Marks  []Mark // painted in this order
	Data   Data   // the content as a table
}

// Mark is an element of a figure.
type Mark interface {
	svg(*svgWriter)
	pdf(*pdfWriter)
}

// Point is a place on the figure, in points from its top left corner.
type Point struct{ X, Y float64 }

// Role is the purpose of a mark. A theme maps it to a colour.
type Role int

// Roles beside those of the series.
const (
	Ink   Role = iota // main text
	Muted             // axes, secondary text
	Grid              // lines behind the data
	Paper             // the background
	Band              // a region behind the data
	series
)

// seriesRoles is the number of colours for series. With more series, shapes and dashes differ.
const seriesRoles = 8

// Series returns the colour role of the i-th series, i from 0.
func Series(i int) Role { return series + Role(mod(i, seriesRoles)) }

// Shape is the form of a marker.
type Shape int

// The shapes, in the order in which series take them.
const (
	Circle Shape = iota
	Square
	Triangle
	Diamond
	Down
	Cross
	shapes
)

// ShapeOf returns the marker of the i-th series. Colours repeat after eight series; shapes are then
// shifted by one, so that colour and shape together are unique for 48 series.
func ShapeOf(i int) Shape { return Shape(mod(i+5*(i/seriesRoles), int(shapes))) }

// dashes are stroke patterns in points, solid first.
var dashes = [][]float64{nil, {6, 3}, {2, 2.5}, {8, 3, 2, 3}, {4, 2}}

// DashOf returns the stroke pattern of the i-th series.
func DashOf(i int) []float64 { return dashes[mod(i+i/seriesRoles, len(dashes))] }

func mod(i, n int) int { return ((i % n) + n) % n }

// Line is a polyline through at least two points.
type Line struct {
	Points []Point
	Role   Role
	Width  float64
	Dash   []float64
}

// Marker is a small shape with an optional tooltip.
type Marker struct {
	At     Point
	Shape  Shape
	Size   float64 // radius
	Role   Role
	Hollow bool
	Hover  string
}

// Anchor is the part of a label that is at its point.
type Anchor int

// Anchors of a label.
const (
	Start Anchor = iota
	Middle
	End
)

// Label is a line of text whose baseline passes through At.
type Label struct {
	At     Point
	Text   string
	Size   float64
	Role   Role
	Anchor Anchor
}

// Rect is a filled rectangle.
type Rect struct {
	At            Point
	Width, Height float64
	Role          Role
}
