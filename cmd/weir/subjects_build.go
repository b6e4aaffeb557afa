package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/lab/report/format"
	"weir/lab/subject"
)

// buildCmd is "weir lab build".
type buildCmd struct {
	Names   []string `arg:"" optional:"" predictor:"subjects" help:"Subjects (default: all)."`
	Subject []string `help:"Build the server that this subject.toml describes." placeholder:"FILE" sep:"none"`
	Verbose bool     `short:"v" help:"Show the output of the tools."`
}

func (c *buildCmd) Help() string {
	return `Builds into build/subjects/NAME. A subject whose toolchain is missing is skipped with its reason, and is no failure.

Examples:

  weir lab build
  weir lab build c-epoll go-loop
  weir lab build --subject my-server/subject.toml`
}

func (c *buildCmd) Run(ctx context.Context, t *terminal) error {
	chosen, err := subject.Select(projectRoot(), c.Names, c.Subject)
	if err != nil && len(chosen) == 0 {
		return usageError{err}
	}
	longest, failed := 0, 0
	for _, s := range chosen {
		longest = max(longest, len(s.Name))
	}
	for i, s := range chosen {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		step := fmt.Sprintf("%d/%d  building %s", i+1, len(chosen), s.Name)
		if !c.buildOne(ctx, t, s, step, longest) {
			failed++
		}
	}
	if failed > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d subjects could not be built", failed, len(chosen)))
	}
	return err
}

// buildOne builds a subject and prints the outcome in a line. It reports whether the build
// succeeded, or was not needed.
func (c *buildCmd) buildOne(ctx context.Context, t *terminal, s *subject.Subject, step string, longest int) bool {
	say := func(colour, state, name, text string) {
		fmt.Fprintf(t.out, "%s  %-*s  %s\n", tint(t.colour(), colour, fmt.Sprintf("%-7s", state)), longest, name, text)
	}
	if missing := s.Missing(); missing != "" {
		say(yellow, "skipped", s.Name, missing)
		return true
	}
	if len(s.BuildCmd) == 0 {
		say(green, "ready", s.Name, "needs no build")
		return true
	}
	t.status(step)
	began := time.Now()
	var err error
	if c.Verbose {
		err = s.Build(ctx, t.err)
	} else {
		err = s.Build(ctx, nil)
	}
	t.status("")
	if err == nil {
		say(green, "built", s.Name, fmt.Sprintf("%5.1f s   %s", time.Since(began).Seconds(), format.Bytes(s.Describe().BinaryBytes)))
		return true
	}
	first, rest, _ := strings.Cut(err.Error(), "\n")
	say(red, "failed", s.Name, strings.TrimPrefix(first, s.Name+": "))
	if rest != "" {
		fmt.Fprintf(t.err, "    %s\n", strings.ReplaceAll(rest, "\n", "\n    "))
	}
	return false
}

// status shows the current step on a terminal, in a line that the next status replaces. "" clears
// it.
func (t *terminal) status(text string) {
	if t.errTTY {
		fmt.Fprintf(t.err, "\r\x1b[K%s", tint(t.colour(), dim, text))
	}
}
