package report

import (
	"fmt"
	"strings"

	"weir/lab/report/figure"
)

// TeXTable is a table for LaTeX. The first of a report can replace the paper's table by \input: it
// has the same label tab_results.
type TeXTable struct {
	Size, Space string // of the text and between columns; empty: \scriptsize and 2pt
	Align       string // for tabular
	Head        []string
	Groups      []TeXGroup
	Caption     string // in LaTeX, as Head
}

// TeXGroup is a group of rows with a line below it. A group with a name has it in a column of its
// own, before the cells of its rows.
type TeXGroup struct {
	Name string
	Rows [][]string
}

// TeXHead returns the column headings as a line of LaTeX.
func TeXHead(cells []string) string { return strings.Join(texCells(cells, false), " & ") }

// tex returns the tables of a run for LaTeX.
func tex(d *Digest) []byte {
	tables := d.kind.TeX(d)
	var b strings.Builder
	spanning := len(tables) == 0
	for _, t := range tables {
		spanning = spanning || len(t.Groups) > 0 && t.Groups[0].Name != ""
	}
	if spanning {
		b.WriteString("% Needs \\usepackage{multirow} and \\usepackage{colortbl}.\n")
	} else {
		b.WriteString("% Needs \\usepackage{colortbl}.\n")
	}
	if len(tables) == 0 {
		b.WriteString("% No trial was run, so there is no table.\n")
	}
	for i, t := range tables {
		label := "tab_results"
		if i > 0 {
			label = fmt.Sprintf("tab_results_%d", i+1)
		}
		t.write(&b, label)
	}
	return []byte(b.String())
}

func (t TeXTable) write(b *strings.Builder, label string) {
	if t.Size == "" {
		t.Size, t.Space = `\scriptsize`, "2pt"
	}
	fmt.Fprintf(b, "\\begin{table}[h]\n\t\\centering\n\t%s\n\t\\setlength{\\tabcolsep}{%s}\n\\begin{tabular}{|%s|}\n\t\\hline\n", t.Size, t.Space, t.Align)
	fmt.Fprintf(b, "\t%s \\\\\n\t\\hline\n", strings.Join(t.Head, " \\\\\n\t"))
	for _, g := range t.Groups {
		g.write(b)
	}
	fmt.Fprintf(b, "\\end{tabular}\n\t\\caption{%s}\n\t\\label{%s}\n\\end{table}\n", t.Caption, label)
}

// write writes the rows of a group, every other one shaded.
func (g TeXGroup) write(b *strings.Builder) {
	lead := "\t"
	if g.Name != "" {
		fmt.Fprintf(b, "\t\\multirow{%d}{*}{%s}\n", len(g.Rows), TeXEscape(g.Name))
		lead = "\t& "
	}
	for i, row := range g.Rows {
		b.WriteString(lead + strings.Join(texCells(row, i%2 == 1), " & ") + " \\\\\n")
	}
	b.WriteString("\t\\hline\n")
}

// texCells escapes cells, and shades them if wanted.
func texCells(cells []string, shaded bool) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if out[i] = TeXEscape(c); shaded {
			out[i] = `\cellcolor[gray]{0.9}` + out[i]
		}
	}
	return out
}

var texSpecial = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "µ", `$\mu$`, "–", "--", "×", `$\times$`, "\u00a0", " ")

// TeXEscape escapes s for LaTeX. Characters beyond ASCII, which old installations do not support,
// become question marks.
func TeXEscape(s string) string {
	s = texSpecial.Replace(figure.Clean(s))
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, s)
}
