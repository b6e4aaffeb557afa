package report

import (
	"weir/lab/report/figure"
	"weir/lab/result"
)

// Rendered is a report in every format, for external tests.
type Rendered struct {
	Page, Markdown, TeX, CSV []byte
	Figures                  []*figure.Figure
}

// Render renders the report of r.
func Render(r *result.Results, k Kind) (Rendered, error) {
	d := NewDigest(r, k)
	doc := documentOf(d)
	page, err := doc.html()
	return Rendered{page, doc.markdown(), tex(d), trialsCSV(r), doc.figures()}, err
}

// Checks of rendered reports.
var (
	Balanced   = balanced
	WellFormed = wellFormed
	Slug       = slug
)
