package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"weir/lab"
	"weir/lab/gallery"
)

// galleryCmd is "weir lab gallery".
type galleryCmd struct {
	Dirs     []string `arg:"" name:"dir" predictor:"folder" help:"Folders of runs, or folders of such folders."`
	Out      string   `default:"gallery.html" predictor:"file" help:"The page to write."`
	Markdown string   `predictor:"file" help:"Write the tables as Markdown, too." placeholder:"FILE"`
}

// Help is the long part of the command's help.
func (c *galleryCmd) Help() string {
	return `Collects finished runs on one offline page: machines, kernels and versions side by side, and each subject under each load with its figure, interval and version in every run. The page filters and sorts without a server.

Equal names of loads must mean equal loads: a run whose load has other settings than that of an earlier run with the same name is left out, and so is a file that cannot be read. The others are shown, and the exit status is 1.

Examples:

  weir lab gallery runs --out gallery.html
  weir lab gallery runs/laptop runs/server --out gallery.html --markdown gallery.md`
}

// Run writes the page. Runs that are left out are its error.
func (c *galleryCmd) Run(ctx context.Context, t *terminal) error {
	releaseInterrupts(ctx) // there is nothing to stop: a signal ends the process at once
	runs, problems := gallery.Read(c.Dirs)
	g := gallery.New(runs, problems, lab.ReportKind)
	if len(g.Columns) == 0 {
		return errors.New("lab gallery: there is no run to show:\n" + strings.Join(g.Problems, "\n"))
	}
	page, err := g.HTML()
	if err != nil {
		return err
	}
	if err := writeOutput(c.Out, page); err != nil {
		return err
	}
	if c.Markdown != "" {
		if err := writeOutput(c.Markdown, g.Markdown()); err != nil {
			return err
		}
	}
	fmt.Fprintf(t.err, "%s: %s\n", c.Out, g.Summary())
	if len(g.Problems) > 0 {
		return errors.New(strings.Join(g.Problems, "\n"))
	}
	return nil
}
