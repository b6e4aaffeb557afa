package main

import (
	"context"
	"fmt"

	"weir/lab"
	"weir/lab/report"
	"weir/lab/result"
)

type reportCmd struct {
	Dir  string `arg:"" help:"Directory of the run, with its results.json." type:"path"`
	Text bool   `help:"Print the ranked tables to standard output, and write no file."`
}

// Help is the long part of the command's help.
func (c *reportCmd) Help() string {
	return `Writes report.html, report.md, table.tex, trials.csv and figures/ into DIR again, from DIR/results.json, and prints the summary. It measures nothing.

Examples:

  weir lab report runs/im
  weir lab report --text runs/im | mail -s "last night's run" team`
}

// Run writes the report again, or prints its tables.
func (c *reportCmd) Run(ctx context.Context, t *terminal) error {
	r, err := result.Read(c.Dir)
	if err != nil {
		return err
	}
	kind := lab.ReportKind(r.Plan.Workload)
	if c.Text {
		return report.Text(t.out, r, kind, t.width())
	}
	if err := report.Write(c.Dir, r, kind); err != nil {
		return err
	}
	report.Terminal(t.out, r, kind, t.colour(), t.width())
	fmt.Fprintf(t.err, "The report is in %s.\n", c.Dir)
	return nil
}
