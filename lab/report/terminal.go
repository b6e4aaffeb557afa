package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// screen writes lines for a terminal of a width, with colours or without.
type screen struct {
	strings.Builder
	colour bool
	width  int
}

// The escape sequences in use; the terminal's own palette decides what they look like.
const (
	bold  = "1"
	faint = "2"
	green = "32"
	amber = "33"
)

func (s *screen) paint(style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Terminal writes the summary that ends a run: the answer, the order of the subjects in every cell
// with intervals, what the lab said of the twin, refusals, and which file of the report shows what.
// width is in columns; under 40 counts as 40.
func Terminal(w io.Writer, r *result.Results, colour bool, width int) {
	d := digestOf(r)
	s := &screen{colour: colour, width: max(width, 40)}
	s.para(bold, "", orElse(r.Question, "This run states no question."))
	for _, a := range d.answer() {
		s.para("", "", a)
	}
	for _, c := range d.caveats() {
		s.para(amber, "! ", c)
	}
	s.tables(d)
	s.corrections(d)
	s.twin(d)
	s.refusals(d)
	s.files()
	_, _ = io.WriteString(w, s.String()) // whoever reads a terminal that is gone reads nothing
}

// Text writes only the ranked tables, without colour, for pipes and mails.
func Text(w io.Writer, r *result.Results, width int) error {
	s := &screen{width: max(width, 40)}
	s.tables(digestOf(r))
	_, err := io.WriteString(w, s.String())
	return err
}

// para writes a paragraph broken at the width, its first line led by lead and the others indented
// as far.
func (s *screen) para(style, lead, text string) {
	line := lead
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for _, word := range strings.Fields(figure.Clean(text)) {
		if line != lead && line != indent {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > s.width {
				s.WriteString(s.paint(style, line) + "\n")
				line = indent
			} else {
				line += " "
			}
		}
		line += word
	}
	s.WriteString(s.paint(style, line) + "\n")
}

func (s *screen) tables(d *digest) {
	fields := d.fields()
	if len(d.groups)+len(fields) == 0 {
		s.para("", "", "No trial was run.")
		return
	}
	for _, f := range fields {
		s.WriteString("\n")
		s.para(bold, "", upper(d.fieldName(f))+": at shares of each subject's capacity")
		s.grid(f.rows(), "lrrrlrr")
	}
	if d.Plan.HTTP() {
		s.requests(d)
		return
	}
	if d.Plan.Stack() {
		s.operations(d)
		return
	}
	for _, g := range d.groups {
		s.WriteString("\n")
		s.para(bold, "", upper(d.caption(g))+": CPU per "+d.unit()+", cheapest first")
		s.table(d, g)
	}
}

// table is a group's ranking.
func (s *screen) table(d *digest, g *group) {
	rows := [][]string{{"subject", "µs/" + d.unit(), "times first (interval)", "verdict", "σ/µ (df)", "generator", "machine", "trials"}}
	for i, c := range g.cells {
		ratio, verdict := d.versusFirst(g, i)
		rows = append(rows, []string{figure.Clean(c.subject), sig(c.perMessage.mean), ratio, verdict,
			c.varied(), sig(c.load.mean), sig(c.machine.mean), c.counted()})
	}
	s.grid(rows, "lrrlrrrr")
}

// requests is what a run of HTTP loads shows: one ranking, then what only such loads have.
func (s *screen) requests(d *digest) {
	for _, g := range d.telling() {
		s.WriteString("\n")
		s.para(bold, "", upper(d.caption(g))+": CPU per request, cheapest first")
		s.table(d, g)
	}
	tables := d.sweepTables(d.sweep())
	for _, g := range d.loops() {
		tables = append(tables, d.loopTable(g))
	}
	tables = append(tables, d.filtersTable())
	for _, t := range append(tables, d.gzipTables()...) {
		if len(t.Rows) > 0 {
			s.WriteString("\n")
			s.para(bold, "", t.Caption)
			s.grid(cleaned(t), t.Align)
		}
	}
}

// operations is what a run on TCP/IP stacks shows.
func (s *screen) operations(d *digest) {
	for _, b := range d.operationsSection().Blocks {
		s.WriteString("\n")
		s.para(bold, "", b.Table.Caption)
		s.grid(cleaned(b.Table), b.Table.Align)
	}
}

// cleaned is the rows of a table under its heading, fit for a terminal.
func cleaned(t *table) [][]string {
	rows := append([][]string{t.Head}, t.Rows...)
	for _, r := range rows {
		cleanAll(r)
	}
	return rows
}

// rows is the terminal's table of a field. What gave out stands where row sets words.
func (f *field) rows() [][]string {
	rows := [][]string{{"subject", "capacity/s", "share", "σ/µ", "gave out", "echo p99, ms", "measured"}}
	for _, r := range f.reaches {
		limit := "server"
		switch {
		case r.gaveOut.GeneratorBound:
			limit = "generator"
		case r.gaveOut.Rate == 0:
			limit = "nothing"
		}
		if len(r.shares) == 0 {
			rows = append(rows, []string{figure.Clean(r.subject), r.capacity(), absent, absent, limit, absent, "0"})
		}
		for _, s := range r.shares {
			rows = append(rows, []string{figure.Clean(r.subject), r.capacity(), short(s.percent) + " %", fixed(s.spot(variation).mean, 3), limit, s.spot(tailMS).String(), fmt.Sprint(len(s.accepted))})
		}
	}
	return rows
}

// grid writes rows under the names in the first of them, numbers to the right as align says.
// Columns are left out from the right when the terminal is narrow.
func (s *screen) grid(rows [][]string, align string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	columns, used := 0, 0
	for columns < len(widths) && (columns < 2 || used+widths[columns]+2 <= s.width) {
		used += widths[columns] + 2
		columns++
	}
	for i, r := range rows {
		s.row(r[:columns], widths, i, align)
	}
}

// row sets names and verdicts to the left and numbers to the right.
func (s *screen) row(cells []string, widths []int, n int, align string) {
	line := ""
	for i, c := range cells {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		cell := gap + c
		if !right(align, i) {
			cell = c + gap
		}
		switch {
		case n == 0:
			cell = s.paint(faint, cell)
		case c == result.Different:
			cell = s.paint(amber, cell)
		case c == result.Equivalent:
			cell = s.paint(green, cell)
		}
		line += "  " + cell
	}
	s.WriteString(strings.TrimRight(line, " ") + "\n")
}

// corrections says what the verdicts in the tables are corrected for.
func (s *screen) corrections(d *digest) {
	if len(d.Comparisons) > 0 {
		s.WriteString("\n")
		s.para(faint, "", d.correction(result.MetricCPU))
	}
}

func (s *screen) twin(d *digest) {
	var twins []result.Comparison
	for _, c := range d.Comparisons {
		if c.Twin {
			twins = append(twins, c)
		}
	}
	if len(twins) == 0 {
		return
	}
	style := green
	if d.twinsDiffering() > 0 {
		style = amber
	}
	s.WriteString("\n")
	s.para(style, "Twin: ", fmt.Sprintf("%s ran twice under two names. %s", twins[0].A, d.twinSaid(twins)))
}

func (s *screen) refusals(d *digest) {
	refused := d.refused()
	if refused == 0 {
		return
	}
	s.WriteString("\n")
	s.para("", "", fmt.Sprintf("%d of %s refused:", refused, plural(len(d.Trials), "trial", "trials")))
	for _, r := range d.refusalReasons() {
		s.para(faint, "  ", fmt.Sprintf("%d × %s", r.trials, r.kind))
	}
}

func (s *screen) files() {
	s.WriteString("\n")
	for _, f := range [][2]string{
		{htmlFile, "everything, with figures; open it in a browser"},
		{markdownFile, "the same as text"},
		{texFile, "the paper's table with these figures beside it"},
		{figuresDir + "/", "every figure as SVG and PDF"},
		{csvFile, "every trial; results.json has all of it"},
	} {
		s.para(faint, fmt.Sprintf("  %-12s  ", f[0]), f[1])
	}
}
