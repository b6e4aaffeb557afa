package report

import (
	"errors"
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
	markdown, markdownErr := doc.markdown()
	tables, texErr := d.tex()
	return Rendered{page, markdown, tables, trialsCSV(r), doc.figures()}, errors.Join(err, markdownErr, texErr)
}

// Checks of rendered reports.
var (
	Balanced   = balanced
	WellFormed = wellFormed
	Slug       = slug
)
