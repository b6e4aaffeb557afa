// Command weir compares, measures and runs network services.
//
// This package is wiring: it reads flags, calls the parts, prints, and turns errors into exit
// codes. 0 means that the command did what it was asked, 1 that it failed, 2 that it was asked
// wrongly, and 130 that it was interrupted. Results go to standard output; progress, hints and
// errors to standard error. Colour and live lines appear on terminals only.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

type cli struct {
	Lab   labCmd   `cmd:"" help:"Compare servers: run experiments, list subjects, measure commands."`
	Load  loadCmd  `cmd:"" help:"Drive a controlled load at any server."`
	Serve serveCmd `cmd:"" help:"Serve a folder, or a site composed of components."`
	Stack stackCmd `cmd:"" help:"Run a host in user space, and use it from the shell."`
	Chat  chatCmd  `cmd:"" help:"Host a chat that every IRC client can use."`
	Vet   vetCmd   `cmd:"" help:"Find components that touch what they have passed on."`

	Completion completionCmd `cmd:"" help:"Print the code that makes a shell complete weir's commands."`
	Version    versionCmd    `cmd:"" help:"Say which weir this is."`
}

type labCmd struct {
	Run         runCmd         `cmd:"" help:"Run an experiment and write its report."`
	List        listCmd        `cmd:"" help:"Show the subjects and what is missing for each."`
	Build       buildCmd       `cmd:"" help:"Build subjects."`
	Check       checkCmd       `cmd:"" help:"Test subjects against the contract that makes them comparable."`
	Measure     measureCmd     `cmd:"" help:"Account for the CPU of a command and everything it starts."`
	Compare     compareCmd     `cmd:"" help:"Compare two finished runs."`
	Report      reportCmd      `cmd:"" help:"Write the report of a run again."`
	Portability portabilityCmd `cmd:"" help:"Build and test the C subjects with every compiler and machine at hand."`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, signals := watchInterrupts()
	return exitCode(ctx, signals.stop(command(ctx, args)))
}

// command runs the command that the arguments name.
func command(ctx context.Context, args []string) error {
	var c cli
	t := newTerminal(os.Stdout, os.Stderr)
	parser, err := kong.New(&c, kong.Name("weir"), kong.UsageOnError(),
		kong.Description("Write a network service once, choose its concurrency paradigm when you deploy it, and measure what that choice costs."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(t))
	if err != nil {
		return err
	}
	kongcompletion.Register(parser) // answers a shell that asks for a completion
	k, err := parser.Parse(args)
	if err != nil {
		return usageError{err}
	}
	return k.Run()
}

// exitCode prints err and says how the process ends.
func exitCode(ctx context.Context, err error) int {
	var u usageError
	var by *signalled
	switch {
	case err == nil:
		return 0
	case errors.As(err, &by):
		fmt.Fprintln(os.Stderr, "weir:", err)
		return 128 + int(by.signal)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "weir: interrupted:", err)
		return 130
	case errors.As(err, &u):
		fmt.Fprintln(os.Stderr, "weir:", err)
		return 2
	}
	fmt.Fprintln(os.Stderr, "weir:", err)
	return 1
}

// usageError is a mistake in what was asked for, found after the flags were parsed.
type usageError struct{ error }
