package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"weir/lab/report/format"
	"weir/lab/subject"
)

// listCmd is "weir lab list".
type listCmd struct {
	Subject []string `help:"List the server that this subject.toml describes." placeholder:"FILE" sep:"none"`
	JSON    bool     `help:"Print JSON."`
}

func (c *listCmd) Help() string {
	return `Lists every folder under subjects/ with a subject.toml. Lines are lines of code, without blanks and comments. Dependencies are third-party libraries. The size of a binary is known once it is built.

Examples:

  weir lab list
  weir lab list --json | jq -r '.[] | select(.missing == "") | .name'`
}

// listed is the JSON form of a subject.
type listed struct {
	Name         string   `json:"name"`
	Language     string   `json:"language"`
	Paradigm     string   `json:"paradigm"`
	Workloads    []string `json:"workloads"`
	Missing      string   `json:"missing"` // empty: it can be built and run on this machine
	Lines        int      `json:"lines"`
	Dependencies int      `json:"dependencies"`
	BinaryBytes  int64    `json:"binary_bytes"` // 0 before a build
	About        string   `json:"about"`
	Differs      string   `json:"differs,omitempty"`
	Contract     string   `json:"contract"`
}

func (c *listCmd) Run(ctx context.Context, t *terminal) error {
	chosen, broken := subject.Select(projectRoot(), nil, c.Subject)
	all := describe(chosen)
	if c.JSON {
		return errors.Join(t.json(all), broken)
	}
	if len(all) == 0 && broken == nil {
		return errors.New("no subjects were found: go to the project's folder, or name a file with --subject")
	}
	c.table(t, all)
	return broken
}

// describe describes all subjects at the same time: a check of a toolchain takes a second.
func describe(chosen []*subject.Subject) []listed {
	all := make([]listed, len(chosen))
	var looks sync.WaitGroup
	for i, s := range chosen {
		looks.Go(func() {
			d := s.Describe()
			all[i] = listed{s.Name, s.Language, s.Paradigm, s.Workloads, s.Missing(), d.Lines, d.Dependencies, d.BinaryBytes, s.About, s.Differs, s.Contract}
		})
	}
	looks.Wait()
	return all
}

func (c *listCmd) table(t *terminal, all []listed) {
	rows := make([][]string, len(all))
	ready := 0
	for i, s := range all {
		state := "ready"
		if s.Missing != "" {
			state = "missing: " + s.Missing
		} else {
			ready++
		}
		rows[i] = []string{s.Name, s.Language, s.Paradigm, strings.Join(s.Workloads, " "), strconv.Itoa(s.Lines),
			strconv.Itoa(s.Dependencies), format.Bytes(s.BinaryBytes), state}
	}
	columns := []column{{"NAME", false}, {"LANGUAGE", false}, {"PARADIGM", false}, {"WORKLOADS", false}, {"LINES", true},
		{"DEPS", true}, {"BINARY", true}, {"STATE", false}}
	width := 0 // a file or a pipe gets whole lines
	if t.outTTY {
		width = t.width()
	}
	writeTable(t.out, columns, rows, width, func(row, column int, cell string) string {
		switch {
		case row < 0:
			return tint(t.colour(), dim, cell)
		case column == len(columns)-1 && all[row].Missing == "":
			return tint(t.colour(), green, cell)
		case column == len(columns)-1:
			return tint(t.colour(), yellow, cell)
		}
		return cell
	})
	fmt.Fprintf(t.out, "\n%d of %d can be built and run on this machine.\n", ready, len(all))
}
