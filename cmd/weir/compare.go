package main

import (
	"context"
	"fmt"

	"weir/lab"
	"weir/lab/compare"
	"weir/lab/result"
)

type compareCmd struct {
	A         string `arg:"" name:"dir-a" help:"Directory of the first run, with its results.json."`
	B         string `arg:"" name:"dir-b" help:"Directory of the second run."`
	Reference string `help:"Subject of both runs that the CPU of the others is divided by (default: the floor, or else the first)." placeholder:"NAME"`
	JSON      bool   `help:"Print the comparisons as JSON, as in results.json."`
}

// Help is the long part of the command's help.
func (c *compareCmd) Help() string {
	return `Compares each subject of both runs with itself, under each load of both. A ratio over 1 says that it cost more in DIR_A.

The two runs were not interleaved: their ratios include any change of the machine in between. The tables "CPU / CPU of NAME" divide the CPU of every subject by that of the reference in the same blocks, which removes what affected both. Prefer them if there is a subject that did not change. To judge a change, use weir lab gate, which interleaves both.

Examples:

  weir lab run im --quick --out before
  git switch faster && weir lab run im --quick --out after
  weir lab compare before after --reference c-epoll`
}

// Run compares the two runs and prints the comparisons.
func (c *compareCmd) Run(ctx context.Context, t *terminal) error {
	a, err := result.Read(c.A)
	if err != nil {
		return err
	}
	b, err := result.Read(c.B)
	if err != nil {
		return err
	}
	kind := lab.ReportKind(a.Plan.Workload).Compare()
	found, err := kind.Runs(a, b, c.Reference)
	if err != nil {
		return fmt.Errorf("cannot compare %s (A) with %s (B): %w", c.A, c.B, err)
	}
	if err := c.print(t, kind, a, b, found); err != nil {
		return err
	}
	return secondCosts(found)
}

// secondCosts is the exit status of a comparison. It tells whether a subject used more CPU in the
// second run.
func secondCosts(found []result.Comparison) error {
	open := false
	for _, f := range found {
		switch {
		case f.Metric != result.MetricCPU:
		case f.Verdict == result.Different && f.Ratio < 1:
			return statusError(exitFailed)
		case f.Verdict == result.Undecided:
			open = true
		}
	}
	if open {
		return undecided
	}
	return nil
}

// print writes the comparisons as text or as JSON.
func (c *compareCmd) print(t *terminal, kind compare.Kind, a, b *result.Results, found []result.Comparison) error {
	if !c.JSON {
		return kind.WriteRuns(t.out, c.A, c.B, a, b, found)
	}
	return t.json(struct {
		A           string              `json:"a"`
		B           string              `json:"b"`
		Comparisons []result.Comparison `json:"comparisons"`
	}{c.A, c.B, found})
}
