package report

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"weir/lab/report/figure"
	"weir/lab/report/format"
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
func Terminal(w io.Writer, r *result.Results, k Kind, colour bool, width int) {
	d := NewDigest(r, k)
	s := &screen{colour: colour, width: max(width, 40)}
	s.para(bold, "", cmp.Or(r.Question, "This run states no question."))
	a := d.answer()
	for _, x := range a.Sentences {
		s.para("", "", x)
	}
	for _, c := range a.Caveats {
		s.para(amber, "! ", c)
	}
	s.tables(d)
	s.closing(d)
	s.files()
	_, _ = io.WriteString(w, s.String()) // the report is in files: a closed terminal is no error
}

// Text writes only the tables, without colour, for pipes.
func Text(w io.Writer, r *result.Results, k Kind, width int) error {
	s := &screen{width: max(width, 40)}
	s.tables(NewDigest(r, k))
	_, err := io.WriteString(w, s.String())
	return err
}

// part writes a paragraph after an empty line.
func (s *screen) part(style, text string) {
	s.WriteString("\n")
	s.para(style, "", text)
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

// tables writes the tables of the summary that have rows.
func (s *screen) tables(d *Digest) {
	if len(d.Trials)+len(d.Probes)+len(d.Saturation)+len(d.KneeProbes) == 0 {
		s.para("", "", "No trial was run.")
		return
	}
	tables := append(d.kneeTables(), d.kind.Summary(d)...)
	if t := d.headlineTable(); t != nil {
		tables = append([]*Table{t}, tables...)
	}
	for _, t := range tables {
		if !t.hasValues() {
			continue
		}
		clean(reflect.ValueOf(t))
		s.part(bold, t.Caption)
		s.grid(append([][]string{t.Head}, t.Rows...), t.Align)
	}
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

// closing writes the correction of verdicts, the A/A control and the causes of rejected trials.
func (s *screen) closing(d *Digest) {
	if len(d.Comparisons) > 0 {
		s.part(faint, d.Correction(result.MetricCPU))
	}
	if controls := d.controls(); len(controls) > 0 {
		style := green
		if d.differingControls() > 0 {
			style = amber
		}
		s.part(style, d.controlSentence(controls))
	}
	for i, c := range rejectionCauses(d.Trials) {
		if i == 0 {
			s.part("", d.rejectedOf()+":")
		}
		s.para(faint, "  ", fmt.Sprintf("%s × %s", format.Count(c.trials), c.cause))
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
