package stack

import (
	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// mainFigure is the main figure of a run on TCP/IP stacks: the first operation of the answer.
func (d digest) mainFigure() *figure.Figure {
	for _, g := range d.Groups {
		o := d.LoadOf(g.Load).Operation
		if o.Inside || o.Cores > 0 || o.Name == result.OperationIdle || d.operationSentence(g, o) == "" {
			continue
		}
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
	return nil
}
