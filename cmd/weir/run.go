package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"weir/lab"
	"weir/lab/compare"
	"weir/lab/report"
	"weir/lab/result"
)

type runCmd struct {
	Experiment string `arg:"" optional:"" default:"im" help:"A built-in experiment (im, im-published, web, pipes, chat, stack) or the path of a .toml file."`

	Quick      bool `xor:"form" help:"As many short blocks as fit four minutes."`
	Paper      bool `xor:"form" help:"The published plan, for im 60 seconds and 1 to 64 connections: about 2 hours."`
	Saturation bool `xor:"form" help:"Each subject's capacity; variation and tail at 70, 85 and 95 % of it. About 15 minutes."`

	Out    string `help:"Directory of the run (default: runs/ and the time)." placeholder:"DIR"`
	Resume string `help:"Go on with the interrupted run in DIR: same plan, same programs, same machine." placeholder:"DIR"`
	Seed   uint64 `help:"Orders the blocks and places the twin (default: random)." placeholder:"N"`
	JSON   bool   `help:"Print the comparisons as JSON instead of the summary."`

	Subjects    []string      `help:"Subjects by name, instead of the experiment's; one that cannot take part is an error." placeholder:"NAME"`
	Subject     []string      `help:"Add the server that this subject.toml describes." placeholder:"FILE" sep:"none"`
	Target      []string      `help:"Add a server that runs elsewhere; its CPU is not measured." placeholder:"HOST:PORT" sep:"none"`
	Workload    string        `help:"sink or echo; page or files for HTTP servers." placeholder:"NAME"`
	Connections []int         `help:"Numbers of connections." placeholder:"N"`
	Patterns    []string      `help:"Arrival patterns: staggered, together, poisson." placeholder:"NAME"`
	Rate        float64       `help:"Messages a second a connection." placeholder:"N"`
	Size        int           `help:"Bytes a message." placeholder:"N"`
	Idle        int           `help:"Connections held open beside the others, on which nothing is sent." placeholder:"N"`
	Churn       float64       `help:"Short connections a second beside the others: connect, send one message, close." placeholder:"N"`
	WorkUS      int           `name:"work-us" help:"Microseconds of computing a message in the subject." placeholder:"N"`
	WaitMS      int           `name:"wait-ms" help:"Milliseconds of waiting a message in the subject." placeholder:"N"`
	Duration    time.Duration `help:"Measured window of a trial." placeholder:"1.5s"`
	Blocks      int           `help:"Palindromic blocks a cell; each holds two trials of every subject." placeholder:"N"`
	Time        time.Duration `help:"Stop starting blocks when this much time is used up." placeholder:"10m"`

	ServerCPUs int  `name:"server-cpus" default:"1" help:"Cores for the subject."`
	Namespace  bool `help:"Put the subject behind a veth pair instead of on loopback."`
	NoReasons  bool `help:"Leave out the trials that count system calls, and the cost of a switch."`
}

func (c *runCmd) Help() string {
	return `Runs every subject of the experiment under the same loads, in random palindromic blocks, a fresh
process for every trial, and writes report.html, report.md, results.json, trials.csv, table.tex and
figures into the directory of the run. Ctrl-C ends it early and keeps what is done. A subject of the
experiment that this machine cannot build or run is left out, and said; one that you name is an error.

Examples:

  $ weir lab run im --quick --out runs/first
  $ weir lab run im --subjects c-epoll,go-loop --connections 64 --patterns poisson --blocks 20
  $ weir lab run im --quick --subject my-server/subject.toml
  $ weir lab run pipes --quick
  $ weir lab run stack --quick
  $ weir lab run --resume runs/first`
}

func (c *runCmd) Run(ctx context.Context, k *kong.Context, t *terminal) error {
	if err := c.refuseBesideResume(k); err != nil {
		return err
	}
	view := newLiveView(t)
	defer view.close()
	runner, err := c.runner(ctx, view.show)
	if err != nil {
		return err
	}
	found, err := runner.Run(ctx)
	view.close()
	err = errors.Join(err, runner.Close())
	if len(found.Trials)+len(found.Probes) == 0 {
		return err
	}
	dir := cmp.Or(c.Resume, c.Out)
	return errors.Join(err, writeRun(dir, found), c.tell(t, dir, found))
}

// refuseBesideResume is an error if something is asked of a resumed run that it would not do.
func (c *runCmd) refuseBesideResume(k *kong.Context) error {
	if c.Resume == "" {
		return nil
	}
	for _, p := range k.Path {
		asked := ""
		switch {
		case p.Positional != nil:
			asked = c.Experiment
		case p.Flag != nil && p.Flag.Name != "resume" && p.Flag.Name != "json":
			asked = "--" + p.Flag.Name
		}
		if asked != "" {
			return usageError{fmt.Errorf("lab run: a resumed run keeps its directory and its plan, so %s has no meaning beside --resume: leave it out, or start a new run", asked)}
		}
	}
	return nil
}

// writeRun writes what a run's directory holds beside results.json.
func writeRun(dir string, r *result.Results) error {
	bench, err := os.Create(filepath.Join(dir, "bench.txt"))
	if err != nil {
		return err
	}
	return errors.Join(compare.WriteBench(bench, r), bench.Close(), report.Write(dir, r))
}

func (c *runCmd) tell(t *terminal, dir string, r *result.Results) error {
	if c.JSON {
		return t.json(r.Comparisons)
	}
	report.Terminal(t.out, r, t.colour(), t.width())
	file, err := filepath.Abs(filepath.Join(dir, "report.html"))
	fmt.Fprintf(t.out, "\nThe report: %s\n", file)
	return err
}

func (c *runCmd) runner(ctx context.Context, progress func(lab.Progress)) (*lab.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	generator := []string{self, "load"}
	if c.Resume != "" {
		return lab.Resume(ctx, c.Resume, generator, progress)
	}
	e, err := c.experiment()
	if err != nil {
		return nil, usageError{err}
	}
	if c.Out == "" {
		c.Out = filepath.Join("runs", time.Now().Format("2006-01-02-150405"))
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 + 1
	}
	return lab.NewRunner(ctx, e, lab.Options{
		Out: c.Out, Root: projectRoot(), Required: c.Subjects, SubjectFiles: c.Subject, Targets: c.Target, Seed: c.Seed,
		ServerCPUs: c.ServerCPUs, Namespace: c.Namespace, Quick: c.Quick, Reasons: !c.NoReasons,
		Generator: generator, Command: repeatCommand(os.Args, c.Seed), Weir: buildVersion(),
	}, progress)
}

// experiment reads the experiment and lets the flags change it.
func (c *runCmd) experiment() (*lab.Experiment, error) {
	e, err := lab.ReadExperiment(c.Experiment)
	if err != nil {
		return nil, err
	}
	for variant, wanted := range map[string]bool{"quick": c.Quick, "paper": c.Paper, "saturation": c.Saturation} {
		if wanted {
			if err := e.Apply(variant); err != nil {
				return nil, err
			}
		}
	}
	replace(&e.Workload, c.Workload)
	if c.Blocks > 0 {
		e.Blocks, e.Busiest = c.Blocks, 0
	}
	replace(&e.Duration, lab.Duration(c.Duration))
	replace(&e.Time, lab.Duration(c.Time))
	replaceAll(&e.Subjects, c.Subjects)
	replaceAll(&e.Connections, c.Connections)
	replaceAll(&e.Patterns, c.Patterns)
	for i := range e.Loads {
		if len(c.Connections) > 0 {
			e.Loads[i].Connections = nil
		}
		replace(&e.Loads[i].Rate, c.Rate)
		replace(&e.Loads[i].Size, c.Size)
		replace(&e.Loads[i].Idle, c.Idle)
		replace(&e.Loads[i].Churn, c.Churn)
		replace(&e.Loads[i].WorkUS, c.WorkUS)
		replace(&e.Loads[i].WaitMS, c.WaitMS)
	}
	return e, e.Validate()
}

func replace[T comparable](v *T, flag T) {
	var unset T
	if flag != unset {
		*v = flag
	}
}

func replaceAll[T any](v *[]T, flag []T) {
	if len(flag) > 0 {
		*v = flag
	}
}

// repeatCommand is the command line that repeats a run: the same one, program included, with its
// seed and without its directory.
func repeatCommand(args []string, seed uint64) string {
	words := []string{shellWord(args[0])}
	for i := 1; i < len(args); i++ {
		switch name, _, joined := strings.Cut(args[i], "="); {
		case name == "--out" || name == "--seed":
			if !joined {
				i++
			}
		default:
			words = append(words, shellWord(args[i]))
		}
	}
	return strings.Join(append(words, "--seed", strconv.FormatUint(seed, 10)), " ")
}

// shellWord quotes what a shell would split or expand.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,%@+", r)
	}
	if s != "" && !slices.ContainsFunc([]rune(s), func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
