package report

import (
	"fmt"
	"slices"
	"strings"
)

// texRequests is a table of requests: what an answer cost and how soon it came, under the load that
// tells most and in closed loops. It keeps the label of the paper's table, to stand in its place.
func (d *digest) texRequests() []byte {
	var b strings.Builder
	b.WriteString("% Needs \\usepackage{multirow} and \\usepackage{colortbl}.\n\\begin{table}[h]\n\t\\centering\n\t\\scriptsize\n\t\\setlength{\\tabcolsep}{2pt}\n" +
		"\\begin{tabular}{|c|lrrrr|}\n\t\\hline\n\tLoad & Subject & $\\mu$s & answers/s & p50 [ms] & p99 [ms] \\\\\n\t\\hline\n")
	groups := slices.Concat(d.representative(), d.loops())
	for i, g := range groups {
		if slices.Index(groups, g) == i {
			d.texLoad(&b, g)
		}
	}
	fmt.Fprintf(&b, "\\end{tabular}\n\t\\caption{CPU of the whole process tree per answered request in $\\mu$s, answered requests per second, and time to the answer, by load; -- means not measured.}\n\t\\label{tab_results}\n\\end{table}\n")
	return []byte(b.String())
}

// texLoad writes the rows of one load, every other one shaded.
func (d *digest) texLoad(b *strings.Builder, g *group) {
	var rows []string
	for _, c := range g.cells {
		if len(c.trials) > 0 {
			row := []string{texEscape(c.subject)}
			for _, v := range []string{sig(c.perMessage.mean), short(c.rate().mean), sig(c.ms(p50)), sig(c.ms(p99))} {
				row = append(row, texEscape(v))
			}
			rows = append(rows, texRow(row, len(rows)%2 == 1))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\t\\multirow{%d}{*}{%s}\n%s\t\\hline\n", len(rows), texEscape(g.load), strings.Join(rows, ""))
	}
}
