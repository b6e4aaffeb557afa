package main

import (
	"bytes"
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
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
	"weir/lab/workload"
)

type runCmd struct {
	Experiment string `arg:"" optional:"" predictor:"experiment" help:"A built-in experiment (im, im-published, web, http, proxy, pipes, grpc, chat, stack, stack-ipv6) or the path of a .toml file."`

	Quick      bool `xor:"form" help:"As many short blocks as fit into four minutes."`
	Paper      bool `xor:"form" help:"The published plan, for im 60 seconds and 1 to 64 connections: about 2 hours."`
	Saturation bool `xor:"form" help:"Each subject's capacity, and its variation and tail latency at 70, 85 and 95 % of it. About 15 minutes."`

	Out    string `predictor:"folder" help:"Directory of the run (default: runs/ and the time)." placeholder:"DIR"`
	Resume string `predictor:"folder" help:"Continue the interrupted run in DIR: same plan, same programs, same machine." placeholder:"DIR"`
	Seed   uint64 `help:"Seed of the order of trials and of the choice of the A/A control (default: random)." placeholder:"N"`
	JSON   bool   `help:"Print the comparisons as JSON instead of the summary."`

	Subjects    []string      `predictor:"subjects" help:"Subjects by name, instead of the experiment's; one that cannot take part is an error." placeholder:"NAME"`
	Subject     []string      `predictor:"file" help:"Add a server: NAME=COMMAND with {port} or {addr} in the command, NAME:PORT=COMMAND if it has a port of its own, NAME=http://HOST:PORT or NAME=https://HOST:PORT if it runs already, or the path of its subject.toml." placeholder:"SERVER" sep:"none"`
	Target      []string      `help:"Add a server that runs elsewhere; its CPU is not measured." placeholder:"HOST:PORT" sep:"none"`
	Workload    string        `predictor:"workload" help:"sink or echo; page or files for HTTP servers." placeholder:"NAME"`
	Connections []int         `help:"Numbers of connections. Several are a sweep." placeholder:"N,..."`
	Patterns    []string      `predictor:"patterns" help:"Arrival patterns: staggered, together, poisson." placeholder:"NAME"`
	Rate        float64       `name:"rate-per-connection" help:"Messages per second on each connection." placeholder:"N"`
	Rates       []float64     `name:"rate" help:"Messages per second over all connections. Several are a sweep: a load for each." placeholder:"N,..."`
	Size        []int         `help:"Bytes per message; of requests {size} in the path, or else the body of a POST. Several are a sweep." placeholder:"N,..."`
	Streams     []int         `help:"Requests at once on each connection of HTTP/2. Several are a sweep." placeholder:"N,..."`
	Idle        int           `help:"Idle connections, held open beside the others." placeholder:"N"`
	Churn       float64       `help:"Short connections per second beside the others: connect, send one message, close." placeholder:"N"`
	WorkUS      int           `name:"work-us" help:"Microseconds of CPU that the subject burns per message." placeholder:"N"`
	WaitMS      int           `name:"wait-ms" help:"Milliseconds that the subject waits per message." placeholder:"N"`
	Duration    time.Duration `help:"Measured window of a trial." placeholder:"1.5s"`
	Blocks      int           `help:"Palindromic blocks per cell; each holds two trials of every subject." placeholder:"N"`
	Time        time.Duration `help:"Start no more blocks after this time. One block of each cell is run in any case." placeholder:"10m"`

	ServerCPUs int      `name:"server-cpus" default:"1" help:"Cores for the subject."`
	Veth       bool     `help:"Put the subject into a network namespace behind a veth pair, instead of on loopback."`
	Knee       string   `help:"For each subject the highest rate with under 1 % failures and this latency (p50, p99, p99.9 or max), with an interval, instead of the trials. About two minutes a subject; one --rate is where the search starts." placeholder:"\"p99 < 10ms\""`
	Profile    []string `predictor:"subjects" help:"Explain by call stacks why two subjects differ, after the trials: see weir help lab profile." placeholder:"A,B"`
	NoReasons  bool     `help:"Leave out the trials that count system calls, and the cost of a context switch."`

	describedFlags `embed:""`
	agentFlags     `embed:""`

	OldNamespace bool `name:"namespace" hidden:"" old:"--veth"`
}

// Help is the long part of the command's help.
func (c *runCmd) Help() string {
	return `Runs every subject of the experiment under the same loads: a fresh process for each trial, in random palindromic blocks. It writes report.html, report.md, results.json, trials.csv, table.tex and figures into the directory of the run.

Ctrl-C stops the run and keeps the trials that are complete; --resume continues it. A subject of the experiment that cannot be built or run on this machine is left out with its reason. One that you name with --subjects or --subject is an error.

Examples:

  weir lab run im --quick --out runs/first
  weir lab run im --subjects c-epoll,go-loop --connections 64 --patterns poisson --blocks 20
  weir lab run im --quick --subject my-server/subject.toml
  weir lab run --get /hello --subject "mine=./server --port {port}" --subject "python:8000=python3 hello.py"
  weir lab run --get /hello --tls --http2 --insecure --subject "mine=./server --port {port}" --subject "b=https://127.0.0.1:8443"
  weir lab run --get /hello --knee "p99 < 10ms" --subject "a=./a {port}" --subject "b=./b {port}"
  weir lab run --ws /chat --message hello --subject "mine=./server --port {port}"
  weir lab run im --quick --profile go-goroutine,go-loop
  weir lab run pipes --quick
  weir lab run im --agents 2 --agents-listen 192.0.2.1:4222 --patterns poisson --connections 64
  weir lab run stack --quick
  weir lab run --grpc /helloworld.Greeter/SayHello --message 0a05776f726c64 --subject "mine=./server --port {port}"
  weir lab run --resume runs/first`
}

// Run runs the experiment, or continues a run, and writes its report.
func (c *runCmd) Run(ctx context.Context, k *kong.Context, t *terminal) error {
	if err := c.describedFlags.check(); err != nil {
		return err
	}
	c.Experiment = cmp.Or(c.Experiment, c.describedFlags.experiment())
	if c.Experiment == "" && c.Resume == "" {
		return c.listExperiments(t)
	}
	if err := cmp.Or(c.refuseBesideResume(k), c.refuseProfile()); err != nil {
		return err
	}
	c.Veth = c.Veth || c.OldNamespace
	surviveTerminal(ctx)
	view := newLiveView(t)
	defer view.close()
	runner, err := c.runner(ctx, view.show)
	if err != nil {
		return err
	}
	if text := busyMachine(ctx, time.Second/2); text != "" {
		view.warn(text)
	}
	if err := c.checkProfile(runner); err != nil {
		return errors.Join(usageError{err}, runner.Close())
	}
	found, err := runner.Run(ctx)
	why, failed := c.explain(ctx, runner, err)
	view.close()
	err = errors.Join(err, failed, runner.Close())
	kept := len(found.Trials) + len(found.Probes) + len(found.KneeProbes)
	if kept == 0 {
		return err
	}
	dir := cmp.Or(c.Resume, c.Out)
	unwritten := writeRun(dir, found)
	err = errors.Join(err, unwritten, c.summarize(t, dir, found, unwritten == nil), c.writeProfile(t, dir, why))
	switch {
	case ctx.Err() != nil:
		err = errors.Join(fmt.Errorf("%s kept in %s; weir lab run --resume %s continues the run", count(kept, "complete trial", "s"), dir, shellWord(dir)), err)
	case err == nil:
		err = cmp.Or(answersNothing(found), noKnee(found), subjectFailed(found))
	}
	return err
}

// listExperiments is the error of a command line without an experiment. It lists those that are
// built in.
func (c *runCmd) listExperiments(t *terminal) error {
	var entries []entry
	for _, name := range lab.Builtin() {
		e, err := lab.ReadExperiment(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name, e.Question})
	}
	writeEntries(t.err, "The built-in experiments:", entries, min(columnsOf(t.err), widestHelp))
	fmt.Fprint(t.err, "\nAn experiment takes one to two hours, with --quick about four minutes.\n\n")
	return usageError{errors.New("lab run: no experiment is named: write, for example, weir lab run im --quick")}
}

// answersNothing is the error of a run in which every trial was rejected, with the most frequent
// cause. A run that only searched for capacities has no trial, and is no error.
func answersNothing(r *result.Results) error {
	rejected := func(t result.Trial) bool { return !t.Accepted && len(t.FailedBecause) == 0 }
	if len(r.Trials) == 0 || slices.ContainsFunc(r.Trials, func(t result.Trial) bool { return !rejected(t) }) {
		return nil
	}
	most := report.MostFrequentRejection(r)
	return nothingError{fmt.Errorf("the run answers nothing: every trial was rejected (%d), most often because %s: stop what else uses the machine, or lower the load, and run it again", len(r.Trials), most)}
}

// noKnee is the error of a search in which no subject kept the criterion.
func noKnee(r *result.Results) error {
	if len(r.Knees) == 0 || slices.ContainsFunc(r.Knees, func(k result.Knee) bool { return k.Rate > 0 }) {
		return nil
	}
	if why := r.Knees[0].Why; why != "" {
		return nothingError{fmt.Errorf("no knee was found: %s: give more --time, or a higher limit", why)}
	}
	return nothingError{fmt.Errorf("no knee was found: no subject kept %s at any rate: raise the limit", r.Knees[0].Criterion)}
}

// subjectFailed is the error of a run in which a subject failed and has no accepted trial, with its
// first failure. The run has no figure of it.
func subjectFailed(r *result.Results) error {
	for _, s := range r.Subjects {
		failed, accepted, why := 0, false, ""
		for _, t := range r.Trials {
			if t.Subject == s.Name {
				accepted = accepted || t.Accepted
				if len(t.FailedBecause) > 0 {
					failed, why = failed+1, cmp.Or(why, t.FailedBecause[0])
				}
			}
		}
		if failed > 0 && !accepted {
			return fmt.Errorf("%s failed in %s, and has no valid one: %s: check it with weir lab check", s.Name, count(failed, "trial", "s"), why)
		}
	}
	return nil
}

// busyMachine measures the machine for a moment before a run. It returns a warning if other
// processes use enough CPU to have trials rejected, and "" otherwise.
func busyMachine(ctx context.Context, d time.Duration) string {
	before, err := sample.ReadMachine()
	if err != nil {
		return ""
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return ""
	}
	after, err := sample.ReadMachine()
	if err != nil {
		return ""
	}
	own := os.Getpid()
	var used time.Duration
	busiest := ""
	for _, n := range sample.Neighbours(before, after, func(pid int) bool { return pid == own }) {
		if used += n.CPU; busiest == "" {
			busiest = fmt.Sprintf("%s (process %d)", n.Name, n.PID)
		}
	}
	if share := percent(used, after.At-before.At); share > busyPercent {
		return fmt.Sprintf("the machine is busy: other processes use %.0f %% of a core, most of it %s; trials that they disturb are rejected", share, busiest)
	}
	return ""
}

// busyPercent is the CPU of other processes, in percent of a core, above which a run warns. The lab
// rejects a trial at 5 %.
const busyPercent = 5

// refuseBesideResume is the error of a flag or an experiment that a resumed run would ignore.
func (c *runCmd) refuseBesideResume(k *kong.Context) error {
	if c.Resume == "" {
		return nil
	}
	for _, p := range k.Path {
		asked := ""
		switch {
		case p.Positional != nil:
			asked = c.Experiment
		case p.Flag != nil && !slices.Contains([]string{"resume", "json", "profile"}, p.Flag.Name):
			asked = "--" + p.Flag.Name
		}
		if asked != "" {
			return usageError{fmt.Errorf("lab run: a resumed run keeps its directory and its plan: leave %s out beside --resume, or start a new run", asked)}
		}
	}
	return nil
}

// writeRun writes the files of a run's directory beside results.json.
func writeRun(dir string, r *result.Results) error {
	kind := lab.ReportKind(r.Plan.Workload)
	var bench bytes.Buffer
	err := kind.Compare().WriteBench(&bench, r)
	if err == nil {
		err = writeOutput(filepath.Join(dir, "bench.txt"), bench.Bytes())
	}
	return errors.Join(err, report.Write(dir, r, kind))
}

// summarize prints the outcome of a run, and where its report is if it is written.
func (c *runCmd) summarize(t *terminal, dir string, r *result.Results, written bool) error {
	if c.JSON {
		return t.json(r.Comparisons)
	}
	report.Terminal(t.out, r, lab.ReportKind(r.Plan.Workload), t.colour(), t.width())
	if !written {
		return nil
	}
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
	if err := checkGiven(c.Subject, e.Workload); err != nil {
		return nil, usageError{fmt.Errorf("lab run: %w", err)}
	}
	if c.Out == "" {
		c.Out = filepath.Join("runs", time.Now().Format("2006-01-02-150405"))
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 + 1
	}
	o := lab.Options{
		Out: c.Out, Root: projectRoot(), Required: c.Subjects, Targets: c.Target, Seed: c.Seed,
		ServerCPUs: c.ServerCPUs, Namespace: c.Veth, Quick: c.Quick, CountEvents: !c.NoReasons,
		Agents: c.options(), Generator: generator, Command: repeatCommand(os.Args, c.Seed), Weir: buildVersion(),
	}
	if o.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	addSubjects(&o, c.Subject)
	return lab.NewRunner(ctx, e, o, progress)
}

// checkGiven returns the first mistake in the values of the flag --subject.
func checkGiven(given []string, workload string) error {
	for _, text := range given {
		g := subject.ParseGiven(text)
		if g.Command != "" {
			if _, err := g.Subject("/", workload); err != nil {
				return err
			}
			continue
		}
		name, _, described := strings.Cut(text, "=")
		_, err := os.Stat(text)
		switch {
		case text == "":
			return errors.New("--subject is empty: write NAME=COMMAND, NAME=http://HOST:PORT or the path of a subject.toml")
		case g.URL == "" && described && err != nil:
			return fmt.Errorf("--subject %q: write NAME=COMMAND with a command, and a name of a-z, 0-9 and inner hyphens (%q is none), or the path of a file", text, name)
		}
	}
	return nil
}

// addSubjects adds the subjects of the flag --subject.
func addSubjects(o *lab.Options, given []string) {
	for _, text := range given {
		switch g := subject.ParseGiven(text); {
		case g.File != "":
			o.SubjectFiles = append(o.SubjectFiles, text)
		case g.URL != "":
			o.Targets = append(o.Targets, text)
		default:
			o.SubjectCommands = append(o.SubjectCommands, text)
		}
	}
}

// experiment reads the experiment and applies the flags to it.
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
	if err := setLoads(e, c.describedFlags.settings()...); err != nil {
		return nil, err
	}
	if c.Blocks > 0 {
		e.Blocks, e.BusiestBlocks = c.Blocks, 0
	}
	replace(&e.Duration, workload.Duration(c.Duration))
	if c.Knee != "" {
		e.Knee, e.TimeLimit = c.Knee, 0
	}
	replace(&e.TimeLimit, workload.Duration(c.Time))
	replaceAll(&e.Subjects, c.Subjects)
	replaceAll(&e.Connections, c.Connections)
	replaceAll(&e.Patterns, c.Patterns)
	if err := c.setLoads(e); err != nil {
		return nil, usageError{err}
	}
	return e, e.Validate()
}

// setLoads applies the flags on loads to all loads of the experiment.
func (c *runCmd) setLoads(e *lab.Experiment) error {
	if len(c.Connections) > 0 {
		for _, l := range e.Loads {
			l.Shared().Connections = nil
		}
	}
	if c.Rate != 0 && len(c.Rates) > 0 {
		return errors.New("lab run: --rate-per-connection is of each connection and --rate of all: give one of them")
	}
	err := setLoads(e, loadFlag{"rate", c.Rate, c.Rate != 0}, loadFlag{"total_rate", 0.0, c.Rate != 0}, loadFlag{"idle", c.Idle, c.Idle != 0},
		loadFlag{"churn", c.Churn, c.Churn != 0}, loadFlag{"work_us", c.WorkUS, c.WorkUS != 0}, loadFlag{"wait_ms", c.WaitMS, c.WaitMS != 0})
	e.SweepRates(c.Rates)
	return cmp.Or(err, e.Sweep("size", c.Size, "bytes"), e.Sweep("streams", c.Streams, "streams"))
}

// loadFlag is a flag that sets a setting of all loads.
type loadFlag struct {
	key   string
	value any
	given bool
}

// setLoads applies the given flags to all loads of an experiment.
func setLoads(e *lab.Experiment, flags ...loadFlag) error {
	for _, f := range flags {
		if !f.given {
			continue
		}
		if err := e.SetLoads(f.key, f.value); err != nil {
			return err
		}
	}
	return nil
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

// repeatCommand returns the command line that repeats a run: the same program and flags, with the
// seed and without the directory.
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

// shellWord quotes a word that a shell would split or expand.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,%@+", r)
	}
	if s != "" && !slices.ContainsFunc([]rune(s), func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
