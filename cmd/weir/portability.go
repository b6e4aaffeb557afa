package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"weir/lab"
	"weir/lab/portability"
	"weir/lab/result"
)

// portabilityCmd is "weir lab portability".
type portabilityCmd struct {
	Out   string `help:"Also write the findings to FILE, as JSON." placeholder:"FILE"`
	JSON  bool   `help:"Print JSON."`
	Fresh bool   `help:"Build and test again, even if nothing has changed."`
}

func (c *portabilityCmd) Help() string {
	return `Builds the C subjects with gcc, clang and musl, for 32 bits, and for arm64 under qemu-user, and runs the part of the contract that moves bytes and stops processes. Missing compilers are named and are no failure. The findings are kept in build/portability.json, for the report of an experiment.

Examples:

  weir lab portability
  weir lab portability --json | jq -r '.[] | select(.built and (.passed | not)) | .note'`
}

func (c *portabilityCmd) Run(ctx context.Context, t *terminal) error {
	surviveTerminal(ctx)
	defer t.status("")
	found, err := portability.Run(ctx, projectRoot(), portability.Options{Kinds: lab.ContractKinds(), Fresh: c.Fresh, Doing: t.status})
	t.status("")
	if ctx.Err() != nil {
		return err
	}
	if len(found) == 0 {
		return errors.Join(err, errors.New("no C subjects were found: go to the project's folder"))
	}
	if c.Out != "" {
		err = errors.Join(err, writePortability(c.Out, found))
	}
	if c.JSON {
		err = errors.Join(err, t.json(found))
	} else {
		c.print(t, found)
	}
	if n := failures(found); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d of the tested combinations failed", n))
	}
	return err
}

func writePortability(file string, found []result.Portability) error {
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// untested reports whether a combination was not tested, for lack of a compiler or an emulator.
func untested(p result.Portability) bool {
	return !p.Built && strings.HasPrefix(p.Note, "not tested")
}

func failures(found []result.Portability) (n int) {
	for _, p := range found {
		if !p.Passed && !untested(p) {
			n++
		}
	}
	return n
}

// print writes a table of subjects and targets, then each distinct note about failures and missing
// tools.
func (c *portabilityCmd) print(t *terminal, found []result.Portability) {
	columns := []column{{"SUBJECT", false}}
	at := map[string]int{} // rows by subject, columns by target
	var rows [][]string
	var notes []string
	for _, p := range found {
		if at[p.Target] == 0 {
			columns = append(columns, column{p.Target, false})
			at[p.Target] = len(columns) - 1
		}
		if i := slices.IndexFunc(rows, func(r []string) bool { return r[0] == p.Subject }); i < 0 {
			rows = append(rows, []string{p.Subject})
		}
	}
	for i := range rows {
		rows[i] = append(rows[i], slices.Repeat([]string{"-"}, len(columns)-1)...)
	}
	for _, p := range found {
		i := slices.IndexFunc(rows, func(r []string) bool { return r[0] == p.Subject })
		rows[i][at[p.Target]] = verdict(p)
		if note := noteOn(p, found); note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	writeTable(t.out, columns, rows, 0, func(row, column int, cell string) string {
		switch colour := verdictColours[strings.TrimSpace(cell)]; {
		case row < 0:
			return tint(t.colour(), dim, cell)
		case colour != "":
			return tint(t.colour(), colour, cell)
		}
		return cell
	})
	if len(notes) > 0 {
		fmt.Fprintf(t.out, "\n%s\n", strings.Join(notes, "\n"))
	}
}

var verdictColours = map[string]string{"passed": green, "failed": red, "not built": red, "-": yellow}

func verdict(p result.Portability) string {
	switch {
	case p.Passed:
		return "passed"
	case untested(p):
		return "-"
	case p.Built:
		return "failed"
	}
	return "not built"
}

// noteOn returns the line under the table about a finding. One that all subjects share names only
// the target.
func noteOn(p result.Portability, found []result.Portability) string {
	if p.Note == "" {
		return ""
	}
	shared := !slices.ContainsFunc(found, func(q result.Portability) bool { return q.Target == p.Target && q.Note != p.Note })
	if shared {
		return fmt.Sprintf("%s: %s", p.Target, p.Note)
	}
	return fmt.Sprintf("%s, %s: %s", p.Subject, p.Target, p.Note)
}
