package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"weir/internal/printable"
	"weir/lab"
	"weir/lab/gate"
	"weir/lab/workload"
)

// gateCmd is "weir lab gate".
type gateCmd struct {
	Base string `arg:"" optional:"" help:"The version to compare with: a git revision, or the path of a folder or a subject.toml (./old). Left out with --baseline and --write-baseline."`
	Head string `arg:"" optional:"" help:"The version to judge."`

	Subject string `predictor:"file" xor:"how" help:"Path of the subject.toml within each version." placeholder:"FILE"`
	Build   string `help:"Shell command that builds each version, in its folder." placeholder:"CMD"`
	Start   string `name:"run" xor:"how" help:"Command that runs the server, with {addr} or {port}; a shell does not read it." placeholder:"CMD"`

	Get         string        `help:"Ask for this path, of any HTTP server: with the load get, which is the default then." placeholder:"PATH"`
	Load        string        `predictor:"load" help:"The load: sink, echo, get, get-closed, page, page-closed, files, files-closed, chat, or a .toml file with one load (default: the subject's first workload)." placeholder:"LOAD"`
	Connections int           `help:"Number of connections." placeholder:"N"`
	Rate        float64       `name:"rate-per-connection" help:"Messages per second on each connection." placeholder:"N"`
	Size        int           `help:"Bytes per message." placeholder:"N"`
	Duration    time.Duration `help:"Measured window of a trial." placeholder:"500ms"`
	NoKeepAlive bool          `help:"Open a connection for each request, as servers without keep-alive need it."`

	Metric     []string      `predictor:"metrics" help:"Metrics to judge: cpu, memory, p50, p99, throughput, startup, binary (default: cpu)." placeholder:"NAME"`
	Margin     percentage    `default:"2.5%" help:"A difference up to this is tolerated. To find regressions of 5 %, leave it at 2.5 %."`
	Confidence percentage    `default:"99%" help:"100 % minus the rate of false alarms, over all judged metrics together."`
	Budget     time.Duration `default:"5m" help:"Time for the trials, without the builds."`

	Baseline      string `predictor:"file" help:"Compare with this file, in place of BASE." placeholder:"FILE"`
	WriteBaseline string `predictor:"file" help:"Measure one version, and write its figures into this file." placeholder:"FILE"`

	JSON     bool   `help:"Print JSON instead of the line."`
	Markdown string `predictor:"file" help:"Write a comment for a pull request into this file." placeholder:"FILE"`
	JUnit    string `name:"junit" predictor:"file" help:"Write a JUnit report into this file." placeholder:"FILE"`
	Out      string `predictor:"folder" help:"Keep the results of all trials in this folder." placeholder:"DIR"`

	Seed       uint64 `help:"Seed of the order of trials (default: random)." placeholder:"N"`
	ServerCPUs int    `name:"server-cpus" default:"1" help:"Cores for the server."`
}

// percentage is a share that is written with a percent sign, as "2.5%", or as a fraction, as 0.025.
type percentage float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *percentage) UnmarshalText(text []byte) error {
	digits, percent := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil || !percent && v > 1:
		return fmt.Errorf("%q is no percentage: write 2.5%% or 0.025", text)
	case percent:
		v /= 100
	}
	*p = percentage(v)
	return nil
}

// Help is the long part of the command's help.
func (c *gateCmd) Help() string {
	return `Builds two versions of a server and runs them alternately on this machine, until it can decide whether HEAD is worse than BASE. A revision is checked out into a temporary git worktree. BASE takes part twice: the A/A control shows whether the machine can be trusted.

Standard output has one line: the verdict, with the confidence interval. A regression of 5 % is found in at least 90 % of gates, and false alarms are at most 1 %: docs/benchmarks-in-ci.md has the conditions.

Examples:

  weir lab gate main HEAD --subject subjects/go-goroutine/subject.toml
  weir lab gate origin/main . --build 'go build -o server ./cmd/server' --run './server --listen {addr}' --load echo
  weir lab gate main HEAD --build 'npm ci' --run 'node server.js' --get /hello
  weir lab gate v1.2.0 HEAD --subject server/subject.toml --metric cpu,memory --markdown comment.md --junit gate.xml
  weir lab gate HEAD --subject server/subject.toml --write-baseline baseline.json
  weir lab gate HEAD --subject server/subject.toml --baseline baseline.json`
}

// undecidedError is a gate or a comparison that was carried out, and has no verdict. It has printed
// why.
const undecided = statusError(exitNothing)

// Run runs the gate and prints its outcome.
func (c *gateCmd) Run(ctx context.Context, t *terminal) error {
	if err := leaveGitHook(); err != nil {
		return err
	}
	surviveTerminal(ctx)
	view := newLiveView(t)
	defer view.close()
	config, err := c.config()
	if err = errors.Join(err, checkOutputs(c.Markdown, c.JUnit, c.WriteBaseline)); err != nil {
		return usageError{err}
	}
	config.Progress = view.show
	o, err := gate.Run(ctx, config)
	view.close()
	if err != nil {
		// a report of an earlier gate would be taken for that of this one
		return errors.Join(err, c.writeReports(gate.ErrorMarkdown(err), gate.ErrorJUnit(err)))
	}
	for _, w := range o.Warnings {
		fmt.Fprintln(t.err, "weir: warning:", printable.Lines(w))
	}
	if err := c.write(t, o); err != nil {
		return err
	}
	switch o.Verdict {
	case gate.Worse:
		return statusError(exitFailed)
	case gate.Undecided:
		return undecided
	}
	return nil
}

// leaveGitHook removes the variables by which git tells its hooks where the repository is. With
// them a command in a worktree, such as a build's, changes the index of the repository.
func leaveGitHook() error {
	var errs []error
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"} {
		errs = append(errs, os.Unsetenv(name))
	}
	return errors.Join(errs...)
}

// config returns the gate of the command line.
func (c *gateCmd) config() (gate.Config, error) {
	if (c.Baseline != "" || c.WriteBaseline != "") && c.Head == "" {
		c.Base, c.Head = "", c.Base
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 + 1
	}
	self, err := os.Executable()
	if err != nil {
		return gate.Config{}, err
	}
	g := gate.Config{
		Base: gate.Version(c.Base), Head: gate.Version(c.Head), Program: gate.Program{Subject: c.Subject, Build: c.Build, Run: c.Start},
		Metrics: c.Metric, Margin: float64(c.Margin), Confidence: float64(c.Confidence), Budget: c.Budget, Record: c.WriteBaseline != "",
		Out: c.Out, Seed: c.Seed, ServerCPUs: c.ServerCPUs, Generator: []string{self, "load"}, Weir: buildVersion(), Command: repeatCommand(os.Args, c.Seed),
	}
	if c.Baseline != "" {
		if g.Baseline, err = gate.ReadBaseline(c.Baseline); err != nil {
			return g, err
		}
	}
	if g.Load, err = c.load(); err != nil {
		return g, err
	}
	return g, g.Validate()
}

// load reads the load and applies the flags to it.
func (c *gateCmd) load() (*lab.Experiment, error) {
	name := cmp.Or(c.Load, gate.DefaultLoad(c.Subject))
	if c.Get != "" {
		name = cmp.Or(c.Load, "get")
	}
	if name == "" {
		return nil, errors.New("gate: name the load: --load echo, for example")
	}
	e, err := gate.ReadLoad(name)
	if err != nil {
		return nil, err
	}
	if c.Connections != 0 {
		e.Connections, e.Loads[0].Shared().Connections = []int{c.Connections}, nil
	}
	if c.Duration != 0 {
		e.Duration, e.Loads[0].Shared().Duration = workload.Duration(c.Duration), 0
	}
	return e, setLoads(e, loadFlag{"path", c.Get, c.Get != ""}, loadFlag{"rate", c.Rate, c.Rate != 0}, loadFlag{"size", c.Size, c.Size != 0},
		loadFlag{"no_keep_alive", c.NoKeepAlive, c.NoKeepAlive})
}

// write prints the outcome, and writes the files that were asked for. The line is printed first, so
// that no failure of a file hides the verdict.
func (c *gateCmd) write(t *terminal, o *gate.Outcome) error {
	var errs []error
	if c.JSON {
		errs = append(errs, t.json(o))
	} else {
		_, err := fmt.Fprintln(t.out, o.Line())
		errs = append(errs, err)
	}
	if c.WriteBaseline != "" && o.Verdict == gate.Recorded {
		errs = append(errs, o.WriteBaseline(c.WriteBaseline, c.ServerCPUs))
	}
	junit, err := o.JUnit()
	return errors.Join(append(errs, err, c.writeReports(o.Markdown(), junit))...)
}

// writeReports writes the two files that continuous integration reads.
func (c *gateCmd) writeReports(markdown string, junit []byte) (err error) {
	if c.Markdown != "" {
		err = writeOutput(c.Markdown, []byte(markdown))
	}
	if c.JUnit != "" {
		err = errors.Join(err, writeOutput(c.JUnit, junit))
	}
	return err
}
