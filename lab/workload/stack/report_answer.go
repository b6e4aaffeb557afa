package stack

import (
	"fmt"
	"strings"
	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// answer compares the stacks with the reference, in each operation with the fewest clients. The
// figure shows the first of them.
func (d digest) answer() report.Answer {
	var a report.Answer
	seen := map[string]bool{}
	for _, g := range d.Groups {
		o := d.LoadOf(g.Load).Operation
		if o.Inside || o.Cores > 0 || o.Name == result.OperationIdle || seen[o.Name] {
			continue
		}
		if s := d.operationSentence(g, o); s != "" {
			a.Sentences, seen[o.Name] = append(a.Sentences, s), true
		}
		if len(a.Sentences) == 1 && a.Figure == nil {
			a.Figure = d.mainFigure(g, o)
		}
	}
	if len(a.Sentences) == 0 {
		a.Sentences = []string{"No two stacks have accepted trials under the same load, so there is no comparison."}
	}
	return a
}

// mainFigure shows the main figure of an operation in a group.
func (d digest) mainFigure(g *report.Group, o result.Operation) *figure.Figure {
	f, _ := mainOf(o)
	c := figure.Rows{Name: "answer", Title: format.Upper(d.Caption(g)) + ": " + f.head,
		Desc: "One row for each stack, with its 95 % confidence interval.", X: figure.Axis{Label: f.head, Zero: true}}
	for _, cell := range d.inOrder(g) {
		if e := report.EstimateOf(cell.Trials, f.of); e.Known() {
			c.Rows = append(c.Rows, report.MainRow(shortName(cell.Subject), "", e, cell.Subject != d.reference()))
		}
	}
	return c.Draw()
}

// operationSentence compares the stacks in one operation: "Bulk in, 1 connection: weir-chain 36
// Gbit/s, 1.7 times gvisor (different), with 0.5 times its CPU (different)."
func (d digest) operationSentence(g *report.Group, o result.Operation) string {
	var parts []string
	f, metric := mainOf(o)
	for _, c := range d.inOrder(g) {
		v, ok := d.Versus(metric, g, c.Subject, d.reference())
		cpu, measured := d.Versus(result.MetricCPU, g, c.Subject, d.reference())
		if len(c.Trials) == 0 || c.Subject == d.reference() || !ok || !measured || len(parts) == 3 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s, %s times %s (%s), with %s times its CPU (%s)", shortName(c.Subject), f.say(report.EstimateOf(c.Trials, f.of).Mean), format.Times(v.Ratio), shortName(d.reference()), report.VerdictWord(v), format.Times(cpu.Ratio), report.VerdictWord(cpu)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s.", format.Upper(g.Load), d.clients(g), strings.Join(parts, "; "))
}

// clients formats the number of a group's connections with their noun: "10 flows".
func (d digest) clients(g *report.Group) string {
	many := strings.ToLower(clientsHead(d.LoadOf(g.Load).Operation))
	one := strings.TrimSuffix(many, "s")
	if many == "processes" {
		one = "process"
	}
	return format.Plural(g.Connections, one, many)
}
