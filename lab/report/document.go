package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"weir/lab/report/figure"
)

// document is the content of a report, independent of its format (HTML or Markdown).
type document struct {
	Title    string
	Question string
	Answer   []string       // sentences
	Figure   *figure.Figure // main figure, beside the answer; nil: none
	How      string         // explains the answer and its figures
	Caveats  []string       // conditions that weaken the answer
	Sections []Section
}

// Section is a part of the report.
type Section struct {
	ID, Title string
	How       string // how to read the section, in a few sentences
	Blocks    []Block
	Folded    bool // shown only as its title until the reader opens it
}

// Block is an element of a section. Exactly one field is set, except that Fold and Inside belong
// together.
type Block struct {
	Head    string
	Text    string
	Items   []string
	Code    string
	Table   *Table
	Figures []*figure.Figure
	Fold    string  // title of Inside, which is hidden until the reader opens it
	Inside  []Block // folded blocks
}

// Table is a table whose first column has the row headings.
type Table struct {
	Caption string
	Align   string // l or r for each column
	Head    []string
	Rows    [][]string
	Groups  []int  // indices of rows that start a new group
	Over    []Span // headings above Head; empty, or spans that cover all columns
}

// Span is a heading that spans columns; an empty text is no heading.
type Span struct {
	Text string
	Span int
}

// StartGroup starts a group of rows, unless there is no row before it.
func (t *Table) StartGroup() {
	if len(t.Rows) > 0 {
		t.Groups = append(t.Groups, len(t.Rows))
	}
}

// AddColumn appends a column with its heading, aligned l or r.
func (t *Table) AddColumn(head string, align byte) {
	t.Head, t.Align = append(t.Head, head), t.Align+string(align)
}

// InsertColumn inserts a column before the i-th. The function cell returns its cell of each row.
func (t *Table) InsertColumn(i int, head string, align byte, cell func(row int) string) {
	t.Head, t.Align = slices.Insert(t.Head, i, head), t.Align[:i]+string(align)+t.Align[i:]
	for row := range t.Rows {
		t.Rows[row] = slices.Insert(t.Rows[row], i, cell(row))
	}
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Figures returns a block of figures.
func Figures(figures ...*figure.Figure) Block { return Block{Figures: figures} }

// Paragraph returns a block of text.
func Paragraph(format string, args ...any) Block { return Block{Text: fmt.Sprintf(format, args...)} }

// maxOpenSections is the number of sections that are shown in full; the others are folded.
const maxOpenSections = 8

// documentOf returns the document of a run. Sections without content are left out.
func documentOf(d *Digest) *document {
	a := d.answer()
	doc := &document{
		Title:    "Weir: " + cmp.Or(d.Experiment, "an unnamed experiment"),
		Question: cmp.Or(d.Question, "This run states no question."),
		Answer:   a.Sentences,
		Figure:   a.Figure,
		How:      a.How,
		Caveats:  a.Caveats,
		Sections: append([]Section{d.headlineSection(), d.kneeSection()}, d.kind.Sections(d)...),
	}
	doc.prune()
	for i := range doc.Sections {
		doc.Sections[i].Folded = i >= maxOpenSections
	}
	doc.nameFigures()
	clean(reflect.ValueOf(doc))
	return doc
}

// clean applies figure.Clean to every text below v, except those of marks, which are drawn clean.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(figure.Clean(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	}
}

// figures returns the figures of the document in their order.
func (doc *document) figures() []*figure.Figure {
	var out []*figure.Figure
	if doc.Figure != nil {
		out = append(out, doc.Figure)
	}
	var walk func([]Block)
	walk = func(blocks []Block) {
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

// Tag identifies a group in the name of a figure: "messages-64-staggered", without the load if
// there is only one.
func (d *Digest) Tag(g *Group) string {
	s := fmt.Sprintf("%d-%s", g.Connections, g.Pattern)
	if len(d.Loads()) > 1 {
		s = g.Load + "-" + s
	}
	return s
}

// LoadSuffix names a load at the end of a title: ", load messages". It is empty if there is only
// one.
func (d *Digest) LoadSuffix(load string) string {
	if len(d.Loads()) > 1 {
		return ", load " + load
	}
	return ""
}

// Caption identifies a group for readers: see Kind.
func (d *Digest) Caption(g *Group) string { return d.kind.Caption(d, g) }

// PerGroup draws a figure for each group. Those of other groups than the busiest are folded.
func (d *Digest) PerGroup(what string, draw func(*Group) *figure.Figure) []Block {
	open, folded := split(d, func(g *Group) (f *figure.Figure, ok bool) {
		f = draw(g)
		return f, f != nil
	})
	if len(open) == 0 {
		open, folded = folded, nil
	}
	return []Block{{Figures: open}, {Fold: what + " at the other loads and numbers of connections", Inside: []Block{{Figures: folded}}}}
}

// PerGroupTable makes a table for each group. Those of other groups than the busiest are folded.
func (d *Digest) PerGroupTable(table func(*Group) *Table) []Block {
	open, folded := split(d, func(g *Group) (Block, bool) {
		t := table(g)
		return Block{Table: t}, len(t.Rows) > 0
	})
	return append(open, Block{Fold: "The same at the other loads and numbers of connections", Inside: folded})
}

// split makes a value for each group, those of the busiest apart.
func split[T any](d *Digest, value func(*Group) (T, bool)) (busiest, others []T) {
	for _, g := range d.Groups {
		v, ok := value(g)
		switch {
		case !ok:
		case slices.Contains(d.Busiest(), g):
			busiest = append(busiest, v)
		default:
			others = append(others, v)
		}
	}
	return busiest, others
}
