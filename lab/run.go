package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/lab/agent"
	"weir/lab/internal/network"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
	"weir/lab/workload"
)

// Options configure how an experiment is run, as opposed to what it measures.
type Options struct {
	Out          string   // directory of the run; created if needed
	Root         string   // of the project; its subjects/ holds the subjects
	Required     []string // names of subjects that must take part
	SubjectFiles []string // further subject.toml files, whose subjects must take part
	// further subjects as NAME=COMMAND or NAME:PORT=COMMAND, which must take part; see
	// subject.ParseGiven
	SubjectCommands []string
	Dir             string   // absolute path of the folder in which SubjectCommands run
	Targets         []string // servers that already run: HOST:PORT, or NAME=http://HOST:PORT
	Seed            uint64
	ServerCPUs      int      // number of cores for the subject, 1 or more
	Namespace       bool     // put the two ends into network namespaces of their own
	Quick           bool     // recorded in the plan
	CountEvents     bool     // after the trials, count system calls and switches
	Generator       []string // the command line of weir load
	Agents          AgentOptions
	Command         string // the command line that repeats the run
	Weir            string // the version of the lab

	// further subjects, which must take part; a resumed run does not have them
	Subjects []*subject.Subject `json:"-"`
	Attempts int                // limit on the trials of a place; 0: that of attemptsIn
	// of the subjects in a block's first half; nil: every order is equally likely
	Order Order `json:"-"`
	// AfterBlock is called after each block, on the goroutine of Run, with the results so far. It
	// returns whether to stop. nil: run the whole plan.
	AfterBlock func(*result.Results) (stop bool) `json:"-"`
}

// A Runner executes one run. It belongs to one goroutine.
type Runner struct {
	experiment  *Experiment
	options     Options
	plan        Plan
	site        *workload.Site
	workload    workload.Session
	subjects    map[string]contender
	store       *store
	results     *result.Results
	resumedFrom *runHead // the recorded start of a resumed run; nil for a new one
	// by name: a digest of each subject's program, and of the lab's own
	programs  map[string]string
	progress  func(Progress)
	startedAt time.Time
	trialsRun int // without those of the run that this one resumes
	// places that need no further trial, or get none for want of time
	placesDone int
	total      int // trials that are expected to run
	// the time limit may end the run before total
	timeLimited bool

	agents       *agent.Coordinator // of the load machines; nil: the load is on this machine
	readyTimeout time.Duration      // for a subject to become ready; 0: the default
	// set while capacities are searched and shares of them measured, else nil
	saturation *saturation
	knees      *knees      // set while knees are searched, else nil
	reported   load.Report // of the generator in the last trial
}

// NewRunner prepares a run of e: it creates the directory, selects the cores, finds and builds the
// subjects, and computes the plan. It calls progress, which may be nil, from the goroutine that
// calls Run; progress must return quickly. Close must be called. After an error nothing is left of
// the run.
func NewRunner(ctx context.Context, e *Experiment, o Options, progress func(Progress)) (*Runner, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	o.SubjectFiles = absolute(o.SubjectFiles) // the run may be resumed from another folder
	store, err := createStore(o.Out)
	if err != nil {
		return nil, err
	}
	r := newRunner(e, o, store, progress)
	if err = r.prepare(ctx); err == nil {
		err = store.writeHead(runHead{Results: *r.results, Experiment: *e, Options: o, Programs: r.programs})
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func absolute(files []string) []string {
	all := make([]string, len(files))
	for i, f := range files {
		if all[i] = f; !filepath.IsAbs(f) {
			all[i], _ = filepath.Abs(f) // fails only if there is no current folder
		}
	}
	return all
}

func newRunner(e *Experiment, o Options, s *store, progress func(Progress)) *Runner {
	if progress == nil {
		progress = func(Progress) {}
	}
	r := &Runner{experiment: e, options: o, store: s, progress: progress, programs: map[string]string{}}
	r.results = &result.Results{
		Version: result.Version, Experiment: e.Name, Question: e.Question, Command: o.Command, Seed: o.Seed,
		Started: time.Now(), Plan: e.plan(), Machine: describeMachine(o.Weir), Trials: []result.Trial{}, Comparisons: []result.Comparison{},
	}
	return r
}

// prepare selects where the trials run, collects the subjects and computes the plan.
func (r *Runner) prepare(ctx context.Context) error {
	accounting, err := currentAccounting()
	if err != nil {
		return err
	}
	r.results.AccountingMethods = []result.AccountingMethod{accounting}
	if err := r.openSite(ctx); err != nil {
		return err
	}
	if ns := r.site.Server.Netns; ns != "" {
		r.results.Machine.Congestion = network.Setting(ns, "tcp_congestion_control")
	}
	p := &r.results.Plan
	p.Quick, p.ServerCPUs, p.LoadCPUs, p.Namespace = r.options.Quick, r.site.Server.CPUs, r.site.Load.CPUs, r.options.Namespace
	if err := r.rejectOtherMachine(); err != nil {
		return err
	}
	if err := r.findSubjects(ctx); err != nil {
		return err
	}
	if err := r.rejectOtherPrograms(); err != nil {
		return err
	}
	if err := r.rejectIdle(); err != nil {
		return err
	}
	r.restrictLoads()
	r.plan = NewPlan(r.experiment, r.results.Subjects, r.options.Seed)
	r.plan.order = r.options.Order
	if err := r.checkAgents(ctx); err != nil {
		return err
	}
	p.AAControl = r.plan.AAControl
	r.planHeadline()
	r.reportUnmetLoads()
	return nil
}

// openSite selects where the trials run, and opens the workload and the coordinator of agents
// there.
func (r *Runner) openSite(ctx context.Context) (err error) {
	k := r.experiment.kind()
	if r.site, err = workload.NewSite(r.options.ServerCPUs, k.Traits().GeneratorCores, r.options.Namespace); err != nil {
		return err
	}
	r.site.Workload, r.site.Dir, r.site.Program = k.name, r.store.dir, r.options.Generator[0]
	if r.options.Agents.Count > 0 {
		r.site.Host, r.site.Load.CPUs = r.options.Agents.host(), nil
	}
	r.site.Targets, r.site.ReadyTimeout = len(r.options.Targets) > 0, r.readyTimeout
	if r.workload, err = k.Open(ctx, r.site, r.experiment.Loads); err != nil {
		return err
	}
	return r.openAgents(ctx)
}

// coresFor returns the number of cores that a subject can use; 0 if its CPU is not measured.
func (r *Runner) coresFor(measured bool) int {
	if !measured {
		return 0
	}
	return len(r.site.Server.CPUs)
}

// coresOf returns the number of cores that a running subject can use; 0 if its CPU is not measured.
func (r *Runner) coresOf(s *workload.Running) int {
	if beside := r.besideAgent(s.Subject.Name); beside != nil {
		return beside.Cores
	}
	return r.coresFor(s.Process != nil)
}

// reportUnmetLoads reports the loads that are left out because no subject of the run meets them.
func (r *Runner) reportUnmetLoads() {
	for _, load := range r.experiment.Loads {
		l := load.Shared()
		if only, ok := r.plan.LoadSubjects[l.Name]; ok && len(only) == 0 {
			r.progress(Progress{Phase: "leaving out", What: fmt.Sprintf("the load %s: it is for %s, and none of them takes part", l.Name, strings.Join(l.Subjects, ", ")), CPU: -1})
		}
	}
}

// currentAccounting returns the most accurate CPU accounting method that works on this machine.
func currentAccounting() (result.AccountingMethod, error) {
	g, err := sample.NewGroup("accounting")
	if err != nil {
		return result.AccountingMethod{}, fmt.Errorf("lab: %w", err)
	}
	method := g.Method()
	method.Primary = true
	return method, g.Close()
}

// Close releases the resources of NewRunner or Resume. The run's files stay. Those of a new run
// without a trial do not: its directory is free for the next attempt.
func (r *Runner) Close() error {
	var err error
	if r.workload != nil {
		err = r.workload.Close()
	}
	if r.site != nil {
		err = errors.Join(err, r.site.Close())
	}
	if r.agents != nil {
		err = errors.Join(err, r.agents.Close())
	}
	if r.resumedFrom == nil && len(r.results.Trials)+len(r.results.Probes)+len(r.results.KneeProbes) == 0 {
		r.store.discard() // after all that have files in the directory
	}
	r.store.close()
	return err
}

// Machine describes the machine of the run.
func (r *Runner) Machine() result.Machine { return r.results.Machine }

// Run runs the remaining trials, compares the subjects, and writes results.json. If ctx is
// cancelled or a subject fails, it stops early, and the finished trials are stored and compared:
// the results are valid even with an error.
func (r *Runner) Run(ctx context.Context) (*result.Results, error) {
	r.checkPortability(ctx)
	r.startedAt = time.Now()
	work := r.runTrials
	if len(r.experiment.Saturation) > 0 {
		work = r.saturate
	}
	if r.experiment.Knee != "" {
		work = r.findKnees
	}
	err := work(ctx)
	if err == nil {
		err = r.store.save(r.results) // the next phase takes long, and may be interrupted
	}
	if err == nil && r.experiment.Knee == "" {
		err = r.explainCosts(ctx)
	}
	if err == nil {
		r.results.Finished = time.Now()
	}
	k := r.experiment.kind().Report().Compare()
	r.results.Headline = k.Headline(r.results)
	r.results.Comparisons = append(r.results.Comparisons[:0], k.All(r.results)...)
	return r.results, errors.Join(err, r.store.save(r.results))
}

// runTrials runs the headline's own blocks, then the blocks of the plan, as many as fit the
// experiment's time limit. The first round always runs, because comparisons need it.
func (r *Runner) runTrials(ctx context.Context) error {
	skip := finishedPlaces(r.results.Trials)
	r.placesDone = len(skip)
	r.announcePlan(skip)
	r.warnOfWarmUps()
	if err := r.runHeadline(ctx, skip); err != nil {
		return err
	}
	first := 0 // places of the first round that remain
	for _, c := range r.plan.cellsOf(0) {
		first += r.plan.BlockLen(c)
	}
	for block := range r.plan.All() {
		if block[0].Block > 0 && r.outOfTime(len(block)) {
			return nil
		}
		toCome := 0
		if block[0].Block == 0 {
			first -= len(block)
			toCome = first
		}
		if err := r.runBlock(ctx, block, skip, toCome); err != nil {
			return err
		}
		if r.options.AfterBlock != nil && r.options.AfterBlock(r.results) {
			return nil
		}
	}
	return nil
}

// outOfTime reports whether n more trials would exceed the experiment's time limit.
func (r *Runner) outOfTime(n int) bool {
	limit := time.Duration(r.experiment.TimeLimit)
	return limit > 0 && r.trialsRun > 0 && !fitsTime(limit, time.Since(r.startedAt), r.trialsRun, n)
}

// fitsTime reports whether more trials end within the limit, if each takes as long as the finished
// ones did on average.
func fitsTime(limit, spent time.Duration, ran, more int) bool {
	return spent+time.Duration(more)*spent/time.Duration(ran) <= limit
}

// runPlace runs trials of a place until one is final. A rejected trial is retried only while that
// leaves enough time for the remaining places, which have had no trial yet.
func (r *Runner) runPlace(ctx context.Context, p Place, toCome int) error {
	for attempt := r.attempts(p) + 1; attempt <= cmp.Or(r.options.Attempts, attemptsIn(p.Block)); attempt++ {
		r.progress(r.progressFor(p))
		t, err := r.trial(ctx, p, r.loadNamed(p.Load), nil)
		if err != nil {
			return err
		}
		t.ID, t.Attempt = len(r.results.Trials)+1, attempt
		if err := r.store.trials.add(t); err != nil {
			return err
		}
		r.results.Trials = append(r.results.Trials, t)
		r.trialsRun++
		if isFinal(&t) || r.outOfTime(1+toCome) {
			return nil
		}
	}
	return nil
}

func (r *Runner) attempts(p Place) int {
	n := 0
	for _, t := range r.results.Trials {
		if placeOf(t) == p {
			n++
		}
	}
	return n
}

func (r *Runner) loadNamed(name string) workload.Load {
	i := slices.IndexFunc(r.experiment.Loads, func(l workload.Load) bool { return l.Shared().Name == name })
	return r.experiment.Loads[i]
}

// Progress describes the state of a run at one moment.
type Progress struct {
	Phase     string // "building", "leaving out", "trial", "measuring", …
	What      string // the subject, or the current activity
	Place     Place
	Done      int           // trials of the plan that are over: accepted, or given up
	Total     int           // trials in the plan that are expected to run
	AtMost    bool          // the time limit may end the run before Total
	Rejected  int           // trials rejected so far
	Remaining time.Duration // estimated time to the end; 0 while unknown
	CPU       float64       // of the running trial, in percent of a core; negative while unknown
	Last      *result.Trial // the trial that ended most recently
	Unit      string        // the word for a message: "message", "request"
	Step      string        // the current step of a run at shares of capacity; empty in other runs
	Rate      float64       // messages a second over all connections that are offered in that step
}

func (r *Runner) progressFor(p Place) Progress {
	if r.saturation != nil {
		return r.saturation.progressAt(p)
	}
	if r.knees != nil {
		return r.knees.progressAt(p)
	}
	s := Progress{Phase: "trial", What: p.baseSubject(), Place: p, Done: r.placesDone, Total: max(r.total, r.placesDone+1), AtMost: r.timeLimited, CPU: -1, Unit: r.experiment.Unit()}
	for i := range r.results.Trials {
		if t := &r.results.Trials[i]; !t.Accepted && len(t.FailedBecause) == 0 {
			s.Rejected++
		}
	}
	if n := len(r.results.Trials); n > 0 {
		s.Last = &r.results.Trials[n-1]
	}
	s.Remaining = r.remaining(s.Total - s.Done)
	return s
}

// remaining estimates the time for the given number of trials; 0 before the first has ended.
func (r *Runner) remaining(toGo int) time.Duration {
	if r.trialsRun == 0 {
		return 0
	}
	spent := time.Since(r.startedAt)
	left := time.Duration(toGo) * spent / time.Duration(r.trialsRun)
	if limit := time.Duration(r.experiment.TimeLimit); limit > 0 {
		left = max(0, min(left, limit-spent))
	}
	return left
}
