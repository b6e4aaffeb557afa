package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// screen collects lines for a terminal.
type screen struct {
	strings.Builder
	colour bool
	width  int // in columns
}

// Select Graphic Rendition codes (ECMA-48). The terminal's palette sets the colours.
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

// Terminal writes the summary that is shown at the end of a run: the answer, a table of the
// subjects in every cell, the A/A control, the rejected trials and the files of the report. width
// is in columns; less than 40 is taken as 40.
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
	s.control(d)
	s.rejections(d)
	s.files()
	_, _ = io.WriteString(w, s.String()) // the report is in files: a closed terminal is no error
}

// Text writes only the tables, without colour, for pipes.
func Text(w io.Writer, r *result.Results, width int) error {
	s := &screen{width: max(width, 40)}
	s.tables(digestOf(r))
	_, err := io.WriteString(w, s.String())
	return err
}

// para writes a paragraph wrapped at the width. The first line begins with lead; the others are
// indented by its width.
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
	fields := d.capacityGroups()
	if len(d.groups)+len(fields) == 0 {
		s.para("", "", "No trial was run.")
		return
	}
	for _, f := range fields {
		s.WriteString("\n")
		s.para(bold, "", upper(d.capacityGroupName(f))+": at shares of each subject's capacity")
		s.grid(f.rows(), "lrrrlrr")
	}
	d.kind.screen(s)
}

// table writes the subjects of a group by CPU. It writes nothing if no trial of the group was
// accepted.
func (s *screen) table(d *digest, g *group, what string) {
	if !slices.ContainsFunc(g.cells, func(c *cell) bool { return len(c.trials) > 0 }) {
		return
	}
	s.WriteString("\n")
	s.para(bold, "", upper(d.caption(g))+": "+what)
	rows := [][]string{{"subject", "µs/" + d.unit(), "ratio to first", "verdict", "σ/µ (df)", "generator", "machine", "trials"}}
	for i, c := range g.cells {
		ratio, verdict := d.versusFirst(g, i)
		rows = append(rows, []string{figure.Clean(c.subject), sig(c.perMessage.mean), ratio, verdict,
			c.formatCV(), sig(c.load.mean), sig(c.machine.mean), c.counted()})
	}
	s.grid(rows, "lrrlrrrr")
}

// requests writes the tables of a run of HTTP loads: the CPU, then the tables that only such loads
// have.
func (s *screen) requests(d *digest) {
	for _, g := range d.representative() {
		s.table(d, g, "CPU per request, lowest first")
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

// operations writes the tables of a run on TCP/IP stacks.
func (s *screen) operations(d *digest) {
	for _, b := range d.operationsSection().Blocks {
		if b.Table.trim(); !b.Table.hasValues() {
			continue
		}
		s.WriteString("\n")
		s.para(bold, "", b.Table.Caption)
		s.grid(cleaned(b.Table), b.Table.Align)
	}
}

// cleaned returns the heading and the rows of a table without control characters.
func cleaned(t *table) [][]string {
	rows := append([][]string{t.Head}, t.Rows...)
	for _, r := range rows {
		cleanAll(r)
	}
	return rows
}

// rows is the table of a capacity group for the terminal.
func (f *capacityGroup) rows() [][]string {
	rows := [][]string{{"subject", "capacity/s", "share", "σ/µ", "limit", "echo p99, ms", "measured"}}
	for _, r := range f.capacities {
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
			rows = append(rows, []string{figure.Clean(r.subject), r.capacity(), short(s.percent) + " %", fixed(s.medianOf(variation).mean, 3), limit, s.medianOf(tailMS).String(), fmt.Sprint(len(s.accepted))})
		}
	}
	return rows
}

// grid writes a table whose first row is the heading. align has l or r for each column. Columns
// that do not fit the width are left out from the right.
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

// row writes the n-th row of a grid.
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

// corrections writes over how many comparisons the verdicts are corrected.
func (s *screen) corrections(d *digest) {
	if len(d.Comparisons) > 0 {
		s.WriteString("\n")
		s.para(faint, "", d.correction(result.MetricCPU))
	}
}

// control writes whether the A/A control passed.
func (s *screen) control(d *digest) {
	controls := d.controlComparisons()
	if len(controls) == 0 {
		return
	}
	style := green
	if d.differingControls() > 0 {
		style = amber
	}
	s.WriteString("\n")
	s.para(style, "", d.controlSentence(controls))
}

// rejections writes the causes of the rejected trials, each trial counted once.
func (s *screen) rejections(d *digest) {
	causes := d.rejectionCauses()
	if len(causes) == 0 {
		return
	}
	s.WriteString("\n")
	s.para("", "", d.rejectedOf()+":")
	for _, c := range causes {
		s.para(faint, "  ", fmt.Sprintf("%s × %s", count(c.trials), c.cause))
	}
}

// files writes what each file of the report contains.
func (s *screen) files() {
	s.WriteString("\n")
	for _, f := range [][2]string{
		{htmlFile, "the whole report with figures; open it in a browser"},
		{markdownFile, "the same as Markdown"},
		{texFile, "the published table with these figures"},
		{figuresDir + "/", "every figure as SVG and PDF"},
		{csvFile, "every trial; results.json has all of it"},
	} {
		s.para(faint, fmt.Sprintf("  %-12s  ", f[0]), f[1])
	}
}
