package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/suggest"
	"weir/lab"
	"weir/lab/stat/sequential"
	"weir/lab/workload"
)

// Defaults of a gate. A margin of 2.5 % finds a regression of 5 % (docs/adr/0033).
const (
	DefaultMargin     = 0.025
	DefaultConfidence = 0.99
	DefaultBudget     = 5 * time.Minute
	// MinBlocks is the number of planned blocks below which a gate warns: it hardly decides.
	MinBlocks = 20
)

// A Version names a version of the server, as a user wrote it: a revision of the git repository of
// the current folder, or the path of a folder or of a subject.toml. A path starts with "/" or ".",
// or ends in ".toml". Empty: none.
type Version string

// A Program says how a version is built and run. Either Subject or Run is set, and neither if the
// version is a subject.toml.
type Program struct {
	Subject string // path of a subject.toml within each version
	Build   string // shell command
	Run     string // words, without a shell; with {addr} or {port}
}

// Config describes a gate.
type Config struct {
	Base, Head Version // Base is empty for a baseline, to write or to read
	Program    Program
	Load       *lab.Experiment // with one load and one number of connections; see ReadLoad
	Metrics    []string        // judged; empty: MetricCPU
	Margin     float64         // relative, over 0
	Confidence float64         // of each limit of an interval, over 0.5 and under 1
	Budget     time.Duration   // for starts and trials, without the builds

	Baseline *Baseline // in place of Base; nil: none
	// measure HEAD only, and record it as a baseline
	Record bool

	Out        string   // folder for the results of the trials; empty: a temporary one
	Seed       uint64   // of the order of trials
	ServerCPUs int      // cores for the server, 1 or more
	Generator  []string // the command line of weir load
	Weir       string   // the version of the lab
	Command    string   // the command line that repeats the gate

	Progress func(lab.Progress) // may be nil; called from the goroutine of Run
}

// Validate sets the defaults and reports the first invalid setting.
func (c *Config) Validate() error {
	for _, check := range []struct {
		ok   bool
		what string
	}{
		{c.Head != "", "name the version to measure"},
		{c.Base != "" || c.Baseline != nil || c.Record, "name two versions, BASE and HEAD, or give a baseline"},
		{c.Base == "" || c.Baseline == nil && !c.Record, "a baseline takes the place of BASE: name HEAD alone"},
		{c.Margin > 0 && c.Margin <= 1, fmt.Sprintf("the margin %v is out of range: give over 0 %% and at most 100 %%", c.Margin)},
		{c.Confidence > 0.5 && c.Confidence < 1, fmt.Sprintf("the confidence %v is out of range: give over 50 %% and under 100 %%", c.Confidence)},
		{c.Budget >= time.Second, "the budget is under a second: give the time for the trials, such as 5m"},
		{c.ServerCPUs >= 1, fmt.Sprintf("%d cores for the server are out of range: give 1 or more", c.ServerCPUs)},
		{c.Program.Subject == "" || c.Program.Run == "", "a subject.toml says how it is run: leave the run command out"},
		{c.Program.Build == "" || c.Program.Run != "", "a build command needs a run command"},
	} {
		if !check.ok {
			return fmt.Errorf("gate: %s", check.what)
		}
	}
	for i, name := range c.Metrics {
		if !slices.Contains(Metrics(), name) {
			return fmt.Errorf("gate: there is no metric %q: choose among %s%s", name, strings.Join(Metrics(), ", "), suggest.DidYouMean(name, Metrics()))
		}
		if slices.Contains(c.Metrics[:i], name) {
			return fmt.Errorf("gate: the metric %s is given twice: name it once", name)
		}
	}
	if len(c.Metrics) == 0 {
		c.Metrics = []string{MetricCPU}
	}
	return oneCell(c.Load)
}

// progress reports a phase before the trials.
func (c *Config) progress(phase, what string) {
	if c.Progress != nil {
		c.Progress(lab.Progress{Phase: phase, What: what, CPU: -1})
	}
}

// trialProgress passes the progress of trials on. The versions are built by then.
func (c *Config) trialProgress(p lab.Progress) {
	if c.Progress != nil && p.Phase != "building" {
		c.Progress(p)
	}
}

// confidence returns that of each judged metric: all together have the error 1 - c.Confidence.
func (c *Config) confidence() float64 {
	return 1 - (1-c.Confidence)/float64(len(c.Metrics))
}

// experiment returns the trials of the gate: the load, in as many blocks as fit the time.
func (c *Config) experiment(left time.Duration) *lab.Experiment {
	e := *c.Load
	none := false
	e.Subjects, e.AAControl, e.Headline, e.TimeLimit = nil, &none, lab.Headline{}, workload.Duration(left)
	e.Blocks, e.BusiestBlocks, e.AllAccounting = sequential.MaxBlocks, 0, false
	e.Loads = []workload.Load{e.Loads[0].Clone()}
	l := e.Loads[0].Shared()
	l.Subjects, l.Blocks = nil, 0
	return &e
}

// loadOf describes the load of a gate, as results do.
func loadOf(e *lab.Experiment) Load {
	of := e.Loads[0].Shared()
	return Load{
		Workload: e.Workload, Connections: slices.Concat(of.Connections, e.Connections)[0],
		DurationS: time.Duration(cmp.Or(of.Duration, e.Duration)).Seconds(), Settings: e.Loads[0].Recorded(),
	}
}
