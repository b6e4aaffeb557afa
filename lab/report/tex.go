package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// tex returns the paper's table with the published and the measured figures, one for each load. It
// can replace the paper's table by \input: it has the same label tab_results, and needs the
// packages multirow and colortbl.
func tex(r *result.Results) []byte {
	return digestOf(r).kind.tex()
}

// texMessages returns the table of streams.
func (d *digest) texMessages() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%% Needs \\usepackage{multirow} and \\usepackage{colortbl}.\n")
	if len(d.loads()) == 0 {
		b.WriteString("% No trial was run, so there is no table.\n")
	}
	for i, load := range d.loads() {
		label := "tab_results"
		if i > 0 {
			label = fmt.Sprintf("tab_results_%d", i+1)
		}
		d.texTable(&b, load, label)
	}
	return []byte(b.String())
}

func (d *digest) texTable(b *strings.Builder, load, label string) {
	patterns := d.patterns(load)
	size, space := `\footnotesize`, "4pt"
	if len(patterns) > 1 {
		size, space = `\scriptsize`, "1.5pt"
	}
	fmt.Fprintf(b, "\\begin{table}[h]\n\t\\centering\n\t%s\n\t\\setlength{\\tabcolsep}{%s}\n", size, space)
	fmt.Fprintf(b, "\\begin{tabular}{|c|l%s|}\n\t\\hline\n", strings.Repeat("rr", len(patterns)+1))
	fmt.Fprintf(b, "\t\\# & & \\multicolumn{2}{c}{published}")
	for i, p := range patterns {
		edge := ""
		if i == len(patterns)-1 {
			edge = "|"
		}
		fmt.Fprintf(b, " & \\multicolumn{2}{c%s}{%s}", edge, texEscape(patternName(p)))
	}
	fmt.Fprintf(b, " \\\\\n\tConn. & Subject%s \\\\\n\t\\hline\n", strings.Repeat(" & $\\mu$ [\\%] & $\\sigma\\mu^{-1}$", len(patterns)+1))
	for _, n := range d.texCounts(load) {
		d.texConnections(b, load, n)
	}
	fmt.Fprintf(b, "\\end{tabular}\n\t\\caption{%s}\n\t\\label{%s}\n\\end{table}\n", d.texCaption(load), label)
}

// texCounts returns the numbers of connections of the run, and those of the published table if the
// run has corresponding subjects.
func (d *digest) texCounts(load string) []int {
	counts := d.connections(load)
	if d.firstOf(publishedC) != "" || d.firstOf(publishedGo) != "" {
		for _, row := range published {
			counts = append(counts, row.connections)
		}
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

// texConnections writes the rows of one number of connections: the subjects of the run, and the
// published pair even where it was not measured.
func (d *digest) texConnections(b *strings.Builder, load string, connections int) {
	var rows []string
	for _, subject := range d.subjects {
		cells := d.across(load, connections, subject)
		was, ok := d.publishedFor(subject, connections)
		if allNil(cells) && !ok {
			continue
		}
		row := []string{texEscape(subject), "--", "--"}
		if ok {
			row[1], row[2] = fixed(was.percent, 2), fixed(was.cv, 3)
		}
		for _, c := range cells {
			row = append(row, texCell(c)...)
		}
		rows = append(rows, texRow(row, len(rows)%2 == 1))
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\t\\multirow{%d}{*}{%d}\n%s\t\\hline\n", len(rows), connections, strings.Join(rows, ""))
}

func texCell(c *cell) []string {
	out := []string{"--", "--"}
	if c == nil {
		return out
	}
	if c.percent.known() {
		out[0] = fixed(c.percent.mean, 2)
	}
	if c.cv.known() {
		out[1] = fixed(c.cv.mean, 3)
	}
	return out
}

// texRow formats a line of the table, shaded or not.
func texRow(cells []string, shaded bool) string {
	if shaded {
		for i := range cells {
			cells[i] = `\cellcolor[gray]{0.9}` + cells[i]
		}
	}
	return "\t& " + strings.Join(cells, " & ") + " \\\\\n"
}

func (d *digest) texCaption(load string) string {
	return fmt.Sprintf("Mean ($\\mu$) CPU usage in \\%% of one core and its coefficient of variation $\\frac{\\sigma}{\\mu}$ over windows of %s\\,ms, pooled over all trials (%s): "+
		"as published, and as measured under %s with %s arrivals. Published figures are in the rows with the same concurrency model in the same language; -- means not published, not measured, or too short to tell.",
		short(d.Plan.WindowMS), d.freedom(load), texEscape(d.describe(load)), texEscape(list(names(d.patterns(load)))))
}

// freedom formats the degrees of freedom of a table's variations: "12 to 24 degrees of freedom".
func (d *digest) freedom(load string) string {
	least, most := math.MaxInt, 0
	for _, g := range d.groups {
		for _, c := range g.cells {
			if g.load == load && c.cv.known() {
				least, most = min(least, c.spread.DF), max(most, c.spread.DF)
			}
		}
	}
	if least < most {
		return fmt.Sprintf("%d to %d degrees of freedom", least, most)
	}
	return fmt.Sprintf("%d degrees of freedom", most)
}

func names(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = patternName(p)
	}
	return out
}

var texSpecial = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "µ", `$\mu$`, "–", "--", "×", `$\times$`)

// texEscape escapes s for LaTeX. Characters beyond ASCII, which old installations do not support,
// become question marks.
func texEscape(s string) string {
	s = texSpecial.Replace(figure.Clean(s))
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, s)
}
