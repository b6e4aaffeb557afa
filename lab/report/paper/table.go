package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/stat"
)

// TableSection is the paper's table with the published and the measured figures, one for each load.
func (d Run) TableSection() report.Section {
	s := report.Section{ID: "table", Title: "The published table, and what was measured here",
		How: "CPU is the mean of the whole process tree in % of one core. σ/µ is its coefficient of variation over windows of " + format.Short(d.Plan.WindowMS) +
			" ms, pooled over all trials, with the degrees of freedom in brackets; with fewer than " + fmt.Sprint(stat.MinDF) + " the trials are too short. Published figures are in the rows with the same concurrency model in the same language. They come from another machine and from programs that do unequal work: compare their shape, not their size."}
	for _, load := range d.Loads() {
		s.Blocks = append(s.Blocks, report.Block{Table: d.table(load)})
	}
	return s
}

func (d Run) table(load string) *report.Table {
	t := &report.Table{Caption: format.Upper(d.Describe(load)), Align: "lrrr", Head: []string{"Subject", "Connections", "CPU\u00a0%", "σ/µ"},
		Over: []report.Span{{Text: "", Span: 2}, {Text: "Published", Span: 2}}}
	for _, p := range d.PatternsOf(load) {
		t.Align += "rr"
		t.Head, t.Over = append(t.Head, "CPU\u00a0%", "σ/µ"), append(t.Over, report.Span{Text: "Measured, " + format.Pattern(p), Span: 2})
	}
	for _, n := range d.ConnectionsOf(load) {
		t.StartGroup()
		for _, subject := range d.Names {
			row := append([]string{subject, format.Count(n)}, d.usageOf(subject, n)...)
			if cells, ok := d.cells(load, n, subject, func(c *report.Cell) []string { return []string{c.Percent.String(), c.FormatCV()} }); ok {
				t.Add(append(row, cells...)...)
			}
		}
	}
	return t
}

// cells formats a subject's cell under each arrival pattern of a load in two columns. ok is false
// if it has no cell.
func (d Run) cells(load string, connections int, subject string, say func(*report.Cell) []string) (out []string, ok bool) {
	for _, p := range d.PatternsOf(load) {
		both := []string{format.Absent, format.Absent}
		if g := d.Group(load, connections, p); g != nil && g.Cell(subject) != nil {
			both, ok = say(g.Cell(subject)), true
		}
		out = append(out, both...)
	}
	return out, ok
}

// TeX returns the paper's table, with the published and the measured figures, for each load.
func (d Run) TeX() []report.TeXTable {
	var out []report.TeXTable
	for _, load := range d.Loads() {
		out = append(out, d.texTable(load))
	}
	return out
}

func (d Run) texTable(load string) report.TeXTable {
	patterns := d.PatternsOf(load)
	t := report.TeXTable{Size: `\footnotesize`, Space: "4pt", Align: "c|l" + strings.Repeat("rr", len(patterns)+1), Caption: d.texCaption(load)}
	if len(patterns) > 1 {
		t.Size, t.Space = `\scriptsize`, "1.5pt"
	}
	over := `\# & & \multicolumn{2}{c}{published}`
	for i, p := range patterns {
		edge := ""
		if i == len(patterns)-1 {
			edge = "|"
		}
		over += fmt.Sprintf(` & \multicolumn{2}{c%s}{%s}`, edge, report.TeXEscape(format.Pattern(p)))
	}
	t.Head = []string{over, "Conn. & Subject" + strings.Repeat(` & $\mu$ [\%] & $\sigma\mu^{-1}$`, len(patterns)+1)}
	counts := d.ConnectionsOf(load)
	if d.C+d.Go != "" {
		counts = append(counts, connections()...)
	}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		if rows := d.texRows(load, n); len(rows) > 0 {
			t.Groups = append(t.Groups, report.TeXGroup{Name: fmt.Sprint(n), Rows: rows})
		}
	}
	return t
}

// texRows returns the rows of one number of connections: the subjects of the run, and the published
// pair even where it was not measured.
func (d Run) texRows(load string, connections int) [][]string {
	var rows [][]string
	for _, subject := range d.Names {
		was := d.usageOf(subject, connections)
		cells, ok := d.cells(load, connections, subject, func(c *report.Cell) []string {
			return []string{format.Fixed(c.Percent.Mean, 2), format.Fixed(c.CV.Mean, 3)}
		})
		if ok || was[0] != format.Absent {
			rows = append(rows, slices.Concat([]string{subject}, was, cells))
		}
	}
	return rows
}

func (d Run) texCaption(load string) string {
	var patterns []string
	for _, p := range d.PatternsOf(load) {
		patterns = append(patterns, format.Pattern(p))
	}
	return fmt.Sprintf("Mean ($\\mu$) CPU usage in \\%% of one core and its coefficient of variation $\\frac{\\sigma}{\\mu}$ over windows of %s\\,ms, pooled over all trials (%s): "+
		"as published, and as measured under %s with %s arrivals. Published figures are in the rows with the same concurrency model in the same language; -- means not published, not measured, or too short to tell.",
		format.Short(d.Plan.WindowMS), d.freedom(load), report.TeXEscape(d.Describe(load)), report.TeXEscape(format.List(patterns)))
}

// freedom formats the degrees of freedom of a table's variations: "12 to 24 degrees of freedom".
func (d Run) freedom(load string) string {
	least, most := math.MaxInt, 0
	for _, g := range d.Groups {
		for _, c := range g.Cells {
			if g.Load == load && c.CV.Known() {
				least, most = min(least, c.Spread.DF), max(most, c.Spread.DF)
			}
		}
	}
	if least < most {
		return fmt.Sprintf("%d to %d degrees of freedom", least, most)
	}
	return fmt.Sprintf("%d degrees of freedom", most)
}
