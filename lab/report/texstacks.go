package report

import (
	"fmt"
	"strings"
)

// texStacks is the tables of operations on TCP/IP stacks. The first keeps the label of the paper's
// table, to stand in its place.
func (d *digest) texStacks() []byte {
	var b strings.Builder
	b.WriteString("% Needs \\usepackage{colortbl}.\n")
	for i, block := range d.operationsSection().Blocks {
		label := "tab_results"
		if i > 0 {
			label = fmt.Sprintf("tab_results_%d", i+1)
		}
		texPlain(&b, block.Table, label)
	}
	return []byte(b.String())
}

// texPlain writes a table as it is, a line between its groups and every other row shaded.
func texPlain(b *strings.Builder, t *table, label string) {
	fmt.Fprintf(b, "\\begin{table}[h]\n\t\\centering\n\t\\scriptsize\n\t\\setlength{\\tabcolsep}{2pt}\n\\begin{tabular}{|%s|}\n\t\\hline\n%s\t\\hline\n", t.Align, texCells(t.Head, false))
	group := 0
	for i, row := range t.Rows {
		if group < len(t.Groups) && t.Groups[group] == i {
			b.WriteString("\t\\hline\n")
			group++
		}
		b.WriteString(texCells(row, i%2 == 1))
	}
	fmt.Fprintf(b, "\t\\hline\n\\end{tabular}\n\t\\caption{%s}\n\t\\label{%s}\n\\end{table}\n", texEscape(t.Caption), label)
}

func texCells(cells []string, shaded bool) string {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = texEscape(strings.ReplaceAll(c, "\u00a0", " ")); shaded {
			row[i] = `\cellcolor[gray]{0.9}` + row[i]
		}
	}
	return "\t" + strings.Join(row, " & ") + " \\\\\n"
}
