package main

import (
	"context"
	"fmt"

	"weir/lab/compare"
	"weir/lab/result"
)

type compareCmd struct {
	A         string `arg:"" name:"dir-a" help:"Directory of one run, which holds its results.json."`
	B         string `arg:"" name:"dir-b" help:"Directory of the other."`
	Reference string `help:"Subject of both runs to which the others' CPU is set in relation (default: the floor, else the first)." placeholder:"NAME"`
	JSON      bool   `help:"Print the comparisons as JSON, in the form that results.json has."`
}

// Help is the long part of the command's help.
func (c *compareCmd) Help() string {
	return `Compares each subject that both runs have with itself, under each load that both have. A ratio over 1
says that it cost more in DIR_A.

The two runs were not interleaved, so what the machine did between them is part of these ratios. The
tables "CPU / NAME's" set every subject's CPU in relation to that of the reference in the same blocks,
which takes out what met both alike: prefer them where there is a subject that did not change.

  $ weir lab run im --quick --out before
  $ git switch faster && weir lab run im --quick --out after
  $ weir lab compare before after --reference c-epoll`
}

// Run compares the two runs and prints what it found.
func (c *compareCmd) Run(ctx context.Context, t *terminal) error {
	a, err := result.Read(c.A)
	if err != nil {
		return err
	}
	b, err := result.Read(c.B)
	if err != nil {
		return err
	}
	found, err := compare.RunsAgainst(a, b, c.Reference)
	if err != nil {
		return fmt.Errorf("cannot compare %s (A) with %s (B): %w", c.A, c.B, err)
	}
	if !c.JSON {
		return compare.WriteRuns(t.out, c.A, c.B, a, b, found)
	}
	return t.json(struct {
		A           string              `json:"a"`
		B           string              `json:"b"`
		Comparisons []result.Comparison `json:"comparisons"`
	}{c.A, c.B, found})
}
