package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"weir/web/ownership"
)

// vetCmd finds components that use a Conn after they passed it on.
type vetCmd struct {
	Packages []string `arg:"" optional:"" default:"./..." help:"Packages, as the command go names them (default: those below the current folder)."`
	Tags     string   `help:"Build tags, separated by commas."`
	JSON     bool     `help:"Print the findings as a JSON array."`
}

// Help implements kong.HelpProvider.
func (c *vetCmd) Help() string {
	return `Reads the source of components for package web, tests included; it needs the command go. It prints each line where a component keeps a Conn, or uses it after passing it on.

It finds the plain cases. For the others, run your tests as a debug build, which panics where a component uses a Conn that it does not own:

  go test -race -tags webdebug ./...

Example:

  weir vet ./...`
}

// vetFinding is the JSON form of a finding.
type vetFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Run prints the findings, with names relative to the current folder.
func (c *vetCmd) Run(ctx context.Context, t *terminal) error {
	found, err := ownership.Check(ctx, ".", c.Tags, c.Packages...)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	list := []vetFinding{}
	for _, f := range found {
		if name, err := filepath.Rel(here, f.Position.Filename); err == nil {
			f.Position.Filename = name
		}
		list = append(list, vetFinding{f.Position.Filename, f.Position.Line, f.Position.Column, f.Message})
		if !c.JSON {
			fmt.Fprintln(t.out, f)
		}
	}
	if c.JSON {
		if err := t.json(list); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		return fmt.Errorf("%d uses of a Conn by a component that does not own it", len(list))
	}
	return nil
}
