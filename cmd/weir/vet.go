package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"weir/web/ownership"
)

// vetCmd looks for components that touch a Conn which is no longer theirs.
type vetCmd struct {
	Packages []string `arg:"" optional:"" default:"./..." help:"Packages as the command go names them; those below the current folder unless given."`
	Tags     string   `help:"Build tags, with commas between them."`
	JSON     bool     `help:"Print one JSON array of what is found."`
}

// Help implements kong.HelpProvider.
func (c *vetCmd) Help() string {
	return `It reads the source of components for package web, tests included, and needs the command go. Each line
it prints is a place where a Conn is kept, or is touched after it was passed on. Exits with 1 if there is one.

Example:

    weir vet ./...

It finds the plain cases. For the others, run your tests as a debug build, which panics where a Conn is touched
by somebody who no longer holds it:

    go test -race -tags webdebug ./...`
}

// vetFinding is a finding as a program reads it.
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
		return fmt.Errorf("%d times a Conn is touched by somebody who does not hold it", len(list))
	}
	return nil
}
