package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// document is the content of a report, independent of its format (HTML or Markdown).
type document struct {
	Title    string
	Question string
	Answer   []string       // sentences
	Figure   *figure.Figure // main figure, beside the answer; nil: none
	How      string         // explains the answer and its figures
	Caveats  []string       // conditions that weaken the answer
	Sections []section
}

// section is a part of the report.
type section struct {
	ID, Title string
	How       string // how to read the section, in a few sentences
	Blocks    []block
	Folded    bool // shown only as its title until the reader opens it
}

// block is an element of a section. Exactly one field is set, except that Fold and Inside belong
// together.
type block struct {
	Head    string
	Text    string
	Items   []string
	Code    string
	Table   *table
	Figures []*figure.Figure
	Fold    string  // title of Inside, which is hidden until the reader opens it
	Inside  []block // folded blocks
}

// table is a table whose first column has the row headings.
type table struct {
	Caption string
	Align   string // l or r for each column
	Head    []string
	Rows    [][]string
	Groups  []int  // indices of rows that start a new group
	Over    []over // headings above Head; empty, or spans that cover all columns
}

// over is a heading that spans columns; an empty text is no heading.
type over struct {
	Text string
	Span int
}

// add appends a row.
func (t *table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func text(format string, args ...any) block { return block{Text: fmt.Sprintf(format, args...)} }

// maxOpenSections is the number of sections that are shown in full; the others are folded.
const maxOpenSections = 8

// documentOf returns the document of a run. Sections without content are left out.
func documentOf(r *result.Results) *document {
	d := digestOf(r)
	doc := &document{
		Title:    "Weir: " + orElse(r.Experiment, "an unnamed experiment"),
		Question: orElse(r.Question, "This run states no question."),
		Answer:   d.answer(),
		Figure:   d.mainFigure(),
		How:      d.answerHow(),
		Caveats:  d.caveats(),
		Sections: d.kind.sections(),
	}
	doc.prune()
	for i := range doc.Sections {
		doc.Sections[i].Folded = i >= maxOpenSections
	}
	doc.nameFigures()
	doc.clean()
	return doc
}

// orElse returns s, or other if s is empty.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// figures returns the figures of the document in their order.
func (doc *document) figures() []*figure.Figure {
	var out []*figure.Figure
	if doc.Figure != nil {
		out = append(out, doc.Figure)
	}
	var walk func([]block)
	walk = func(blocks []block) {
		for _, b := range blocks {
			out = append(out, b.Figures...)
			walk(b.Inside)
		}
	}
	for _, s := range doc.Sections {
		walk(s.Blocks)
	}
	return out
}

// nameFigures converts the figures' names, which contain users' names, to unique file names.
func (doc *document) nameFigures() {
	taken := map[string]bool{}
	for _, f := range doc.figures() {
		name := slug(f.Name)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug(f.Name), n)
		}
		taken[name] = true
		f.Name = name
	}
}

// slug replaces all characters of s but [a-z0-9] with dashes, and limits it to 80 bytes.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case b.Len() >= 80:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// tag identifies a group in the name of a figure: "messages-64-staggered", without the load if
// there is only one.
func (d *digest) tag(g *group) string {
	s := fmt.Sprintf("%d-%s", g.connections, g.pattern)
	if len(d.loads()) > 1 {
		s = g.load + "-" + s
	}
	return s
}

// caption identifies a group for readers: see kind.
func (d *digest) caption(g *group) string { return d.kind.caption(g) }

// perGroup draws a figure for each group. Those of other groups than the busiest are folded.
func (d *digest) perGroup(what string, draw func(*group) *figure.Figure) []block {
	var open, folded []*figure.Figure
	top := d.busiest()
	for _, g := range d.groups {
		f := draw(g)
		switch {
		case f == nil:
		case slices.Contains(top, g):
			open = append(open, f)
		default:
			folded = append(folded, f)
		}
	}
	if len(open) == 0 {
		open, folded = folded, nil
	}
	var out []block
	if len(open) > 0 {
		out = append(out, block{Figures: open})
	}
	if len(folded) > 0 {
		out = append(out, block{Fold: what + " at the other loads and numbers of connections", Inside: []block{{Figures: folded}}})
	}
	return out
}

// perGroupTable makes a table for each group, without empty ones. Those of other groups than the
// busiest are folded.
func (d *digest) perGroupTable(make func(*group) *table) []block {
	var open, folded []block
	for _, g := range d.groups {
		t := make(g)
		switch {
		case len(t.Rows) == 0:
		case slices.Contains(d.busiest(), g):
			open = append(open, block{Table: t})
		default:
			folded = append(folded, block{Table: t})
		}
	}
	if len(folded) > 0 {
		open = append(open, block{Fold: "The same at the other loads and numbers of connections", Inside: folded})
	}
	return open
}
