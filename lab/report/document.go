package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// document is the report before it becomes HTML or Markdown: both show the same one.
type document struct {
	Title    string
	Question string
	Answer   []string // two sentences
	How      string   // how to read them
	Caveats  []string // what a reader must know before believing them
	Sections []section
}

// section is a part of the report. How says in a sentence how to read it.
type section struct {
	ID, Title, How string
	Blocks         []block
}

// block is one piece of a section: exactly one of its fields is set, save that Fold titles Inside.
type block struct {
	Head    string
	Text    string
	Items   []string
	Code    string
	Table   *table
	Figures []*figure.Figure
	Fold    string // the title of what is folded away at first
	Inside  []block
}

// table has a row header in its first column.
type table struct {
	Caption string
	Align   string // l or r for each column
	Head    []string
	Rows    [][]string
	Groups  []int  // rows before which a new group begins
	Over    []over // headings above those of the columns; none, or one for every column
}

// over is a heading that spans columns; an empty one spans those that have none.
type over struct {
	Text string
	Span int
}

// add appends a row.
func (t *table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// trim drops columns in which no row says anything.
func (t *table) trim() *table {
	for i := len(t.Head) - 1; i > 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(r []string) bool { return r[i] != "" && r[i] != absent }) {
			t.Head, t.Align = slices.Delete(t.Head, i, i+1), t.Align[:i]+t.Align[i+1:]
			for k := range t.Rows {
				t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
			}
		}
	}
	return t
}

func text(format string, args ...any) block { return block{Text: fmt.Sprintf(format, args...)} }

// documentOf makes the whole document. Sections with nothing to show say what would fill them, or
// are left out where nothing could.
func documentOf(r *result.Results) *document {
	d := digestOf(r)
	doc := &document{
		Title:    "Weir: " + orElse(r.Experiment, "an unnamed experiment"),
		Question: orElse(r.Question, "This run states no question."),
		Answer:   d.answer(),
		How:      d.answerHow(),
		Caveats:  d.caveats(),
	}
	for _, s := range d.sections() {
		if len(s.Blocks) > 0 {
			doc.Sections = append(doc.Sections, s)
		}
	}
	doc.nameFigures()
	doc.clean()
	return doc
}

// sections is what a report may hold, in its order.
func (d *digest) sections() []section {
	switch {
	case d.Plan.HTTP():
		return d.requestSections()
	case d.Plan.Chat():
		return d.roomSections()
	case d.Plan.Stack():
		return d.stackSections()
	}
	return []section{
		d.publishedSection(), d.detailSection(), d.tableSection(), d.connectionsSection(), d.timeSection(), d.orderSection(), d.rulersSection(),
		d.floorSection(), d.memorySection(), d.trialsSection(), d.ratiosSection(), d.twinSection(), d.windowsSection(),
		d.saturationSection(), d.questionsSection(), d.subjectsSection(), d.offeredSection(), d.refusalsSection(), d.coldSection(),
		d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// figures is every figure of the document, in its order.
func (doc *document) figures() []*figure.Figure {
	var out []*figure.Figure
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

// nameFigures makes names into file names that differ: they are made of names that users chose.
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

// slug keeps [a-z0-9] of s, puts a dash for the rest, and stops at 80 bytes.
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

// tag tells the figures of different groups apart: "messages-64-staggered", without the load where
// there is only one.
func (d *digest) tag(g *group) string {
	s := fmt.Sprintf("%d-%s", g.connections, g.pattern)
	if len(d.loads()) > 1 {
		s = g.load + "-" + s
	}
	return s
}

// caption names a group for people: "64 connections, staggered".
func (d *digest) caption(g *group) string {
	s := conns(g.connections) + ", " + patternName(g.pattern)
	if d.Plan.Chat() {
		return fmt.Sprintf("%s, %s", g.load, members(g.connections))
	}
	if d.Plan.Stack() {
		return fmt.Sprintf("%s, %s", g.load, d.clients(g))
	}
	if d.Plan.HTTP() {
		return fmt.Sprintf("%s, %s", g.load, conns(g.connections)) // a load comes in one way
	}
	if len(d.loads()) > 1 {
		s += ", load " + g.load
	}
	return s
}

// perGroup draws a figure for each group: those with the most connections in the open, the rest
// folded.
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
		out = append(out, block{Fold: what + " at the other loads and connection counts", Inside: []block{{Figures: folded}}})
	}
	return out
}

// perGroupTable makes a table for each group, opened and folded as by perGroup; empty ones are left
// out.
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
		open = append(open, block{Fold: "The same at the other loads and connection counts", Inside: folded})
	}
	return open
}
