// Package figure describes a figure once and draws it as SVG and as PDF.
//
// A Figure is a list of marks (lines, shapes, words) on a plane whose origin is the top left corner
// and whose unit is the point. Marks name a Role instead of a colour, so that one description
// serves a light page, a dark page and paper. Charts (Lines, Rows) turn data into marks; everything
// that is drawn carries a shape or a dash beside its colour. A title, a description and the numbers
// as a table are for those who do not see it.
//
// Limitations: text is measured with the metrics of Liberation Sans, which are Arial's and
// Helvetica's; another font may run a little wider. Right-to-left text is not laid out.
package figure

// Figure is a drawing of Width by Height points.
type Figure struct {
	Name   string // file name without extension: [a-z0-9-]+
	Title  string // what is shown, a phrase
	Desc   string // what is to be seen in it, for those who cannot
	Width  float64
	Height float64
	Marks  []Mark // painted in this order
	Data   Data   // the same as a table
}

// Mark is one thing that is drawn.
type Mark interface {
	svg(*svgWriter)
	pdf(*pdfWriter)
}

// Point is a place on the figure, in points from its top left corner.
type Point struct{ X, Y float64 }

// Role is what a mark is for; a theme gives it a colour.
type Role int

// Roles beside those of the series.
const (
	Ink   Role = iota // text and what matters
	Muted             // axes, secondary text
	Grid              // lines behind the data
	Paper             // the background
	Band              // a region behind the data
	series
)

// seriesRoles is how many colours tell series apart; shapes and dashes tell apart the rest.
const seriesRoles = 8

// Series is the colour role of the i-th series, i from 0.
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

// ShapeOf is the marker of the i-th series. After eight series, when colours come again, shapes
// have moved on by one, so that colour and shape together stay unique for 48.
func ShapeOf(i int) Shape { return Shape(mod(i+5*(i/seriesRoles), int(shapes))) }

// dashes are stroke patterns in points, solid first.
var dashes = [][]float64{nil, {6, 3}, {2, 2.5}, {8, 3, 2, 3}, {4, 2}}

// DashOf is the stroke pattern of the i-th series.
func DashOf(i int) []float64 { return dashes[mod(i+i/seriesRoles, len(dashes))] }

func mod(i, n int) int { return ((i % n) + n) % n }

// Line is a polyline through at least two points.
type Line struct {
	Points []Point
	Role   Role
	Width  float64
	Dash   []float64
}

// Marker is a small shape with an optional text that appears when it is pointed at.
type Marker struct {
	At     Point
	Shape  Shape
	Size   float64 // radius
	Role   Role
	Hollow bool
	Hover  string
}

// Anchor says which part of a label stands at its point.
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
