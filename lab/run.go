package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/lab/compare"
	"weir/lab/result"
	"weir/lab/sample"
)

// Options say how an experiment is run, as opposed to what it asks.
type Options struct {
	Out          string   // directory of the run; made if needed
	Root         string   // of the project, whose subjects/ holds the subjects
	SubjectFiles []string // further subject.toml files
	Targets      []string // HOST:PORT of servers that run elsewhere
	Seed         uint64
	ServerCPUs   int      // cores for the subject, 1 or more
	Namespace    bool     // put the two ends into network namespaces of their own
	Quick        bool     // recorded in the plan
	Reasons      bool     // after the trials, count system calls and switches
	Generator    []string // the command of weir load stream
	Command      string   // that repeats the run
}

// A Runner carries out one run. It belongs to one goroutine.
type Runner struct {
	experiment *Experiment
	options    Options
	plan       Plan
	site       *site
	subjects   map[string]contender
	store      *store
	results    *result.Results
	progress   func(Progress)
	began      time.Time
	ranTrials  int
}

// NewRunner prepares a run of e: finds and builds the subjects, chooses the cores, lays out the plan and
// makes the directory. Progress, which may be nil, is called from the goroutine that calls Run and must
// return soon. Close must be called.
func NewRunner(ctx context.Context, e *Experiment, o Options, progress func(Progress)) (*Runner, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	r, err := newRunner(ctx, e, o, progress)
	if err != nil {
		return nil, err
	}
	r.results.Plan.Twin = r.plan.Twin
	r.store, err = createStore(o.Out, head{Results: *r.results, Experiment: *e, Options: o})
	return r, r.closeOn(err)
}

// Resume prepares to go on with the run in dir, with the generator's command and the rest as they are now.
func Resume(ctx context.Context, dir string, generator []string, progress func(Progress)) (*Runner, error) {
	store, h, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	h.Options.Out, h.Options.Generator = dir, generator
	r, err := newRunner(ctx, &h.Experiment, h.Options, progress)
	if err != nil {
		return nil, err
	}
	if want := subjectNames(h.Results.Subjects); !slices.Equal(want, r.plan.Subjects) {
		err := fmt.Errorf("lab: %s was begun with the subjects %v and now there are %v: make the same ones available, or start a new run", dir, want, r.plan.Subjects)
		return nil, r.closeOn(err)
	}
	r.store, r.results = store, &h.Results
	return r, nil
}

func newRunner(ctx context.Context, e *Experiment, o Options, progress func(Progress)) (*Runner, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	r := &Runner{experiment: e, options: o, progress: progress}
	r.results = &result.Results{
		Version: result.Version, Experiment: e.Name, Question: e.Question, Command: o.Command, Seed: o.Seed,
		Started: time.Now(), Plan: e.plan(), Machine: describeMachine(), Trials: []result.Trial{}, Comparisons: []result.Comparison{},
	}
	ruler, err := currentRuler()
	if err != nil {
		return nil, err
	}
	r.results.Rulers = []result.Ruler{ruler}
	if err := r.findSubjects(ctx); err != nil {
		return nil, err
	}
	if r.site, err = newSite(o.ServerCPUs, o.Namespace); err != nil {
		return nil, err
	}
	r.plan = NewPlan(e, subjectNames(r.results.Subjects), o.Seed)
	p := &r.results.Plan
	p.Quick, p.ServerCPUs, p.LoadCPUs, p.Namespace = o.Quick, r.site.server.CPUs, r.site.load.CPUs, o.Namespace
	return r, nil
}

// currentRuler is the best way to account for CPU that works here.
func currentRuler() (result.Ruler, error) {
	g, err := sample.NewGroup("ruler")
	if err != nil {
		return result.Ruler{}, fmt.Errorf("lab: %w", err)
	}
	ruler := g.Ruler()
	ruler.Truth = true
	return ruler, g.Close()
}

func (r *Runner) closeOn(err error) error {
	if err != nil {
		return errors.Join(err, r.Close())
	}
	return nil
}

// Close gives back what NewRunner took. The run's files stay.
func (r *Runner) Close() error { return r.site.close() }

// Run runs the trials that are still to be run, compares, and writes results.json. When ctx ends, or a
// subject fails, it stops early, and what was finished is kept and compared all the same: the results are
// valid even beside an error.
func (r *Runner) Run(ctx context.Context) (*result.Results, error) {
	r.portability(ctx)
	r.began = time.Now()
	work := r.trials
	if len(r.experiment.Saturation) > 0 {
		work = r.saturate
	}
	err := work(ctx)
	if err == nil {
		err = r.explain(ctx)
	}
	if err == nil {
		r.results.Finished = time.Now()
	}
	r.results.Comparisons = append(r.results.Comparisons[:0], compare.All(r.results)...)
	return r.results, errors.Join(err, r.store.finish(r.results))
}

func (r *Runner) trials(ctx context.Context) error {
	skip := done(r.results.Trials)
	for block := range r.plan.All() {
		if r.outOfTime(len(block), block[0].Block) {
			return nil
		}
		for _, p := range block {
			if skip[p] {
				continue
			}
			if err := r.place(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// outOfTime says whether a block of n trials would go beyond the experiment's time. The first round is
// always run: without it there is nothing to compare.
func (r *Runner) outOfTime(n, round int) bool {
	limit := time.Duration(r.experiment.Time)
	if limit == 0 || round == 0 || r.ranTrials == 0 {
		return false
	}
	spent := time.Since(r.began)
	return spent+time.Duration(n)*spent/time.Duration(r.ranTrials) > limit
}

// timeIsUp says whether the experiment's time has passed: then a refused trial is not run again.
func (r *Runner) timeIsUp() bool {
	limit := time.Duration(r.experiment.Time)
	return limit > 0 && time.Since(r.began) > limit
}

// place runs a place of the plan until a trial is accepted or maxAttempts were refused.
func (r *Runner) place(ctx context.Context, p Place) error {
	for attempt := r.attempts(p) + 1; attempt <= maxAttempts; attempt++ {
		r.progress(r.state(p))
		t, err := r.trial(ctx, p, r.load(p.Load), nil)
		if err != nil {
			return err
		}
		t.ID, t.Attempt = len(r.results.Trials)+1, attempt
		if err := r.store.add(t); err != nil {
			return err
		}
		r.results.Trials = append(r.results.Trials, t)
		r.ranTrials++
		if t.Accepted || r.timeIsUp() {
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

func (r *Runner) load(name string) Load {
	i := slices.IndexFunc(r.experiment.Loads, func(l Load) bool { return l.Name == name })
	return r.experiment.Loads[i]
}

// Progress is a moment of a run.
type Progress struct {
	Phase     string // "building", "trial", "afterwards"
	What      string // the subject, or what is being done
	Place     Place
	Done      int           // trials accepted or given up
	Total     int           // trials in the plan
	Refused   int           // trials refused so far
	Remaining time.Duration // estimated; 0 while unknown
	CPU       float64       // of the running trial, in percent of a core; negative while unknown
	Last      *result.Trial // the trial that ended most recently
}

func (r *Runner) state(p Place) Progress {
	s := Progress{Phase: "trial", What: p.base(), Place: p, Total: r.plan.Trials(), CPU: -1}
	for i := range r.results.Trials {
		if t := &r.results.Trials[i]; t.Accepted || t.Attempt == maxAttempts {
			s.Done++
		} else {
			s.Refused++
		}
	}
	if n := len(r.results.Trials); n > 0 {
		s.Last = &r.results.Trials[n-1]
	}
	if r.ranTrials > 0 {
		spent := time.Since(r.began)
		s.Remaining = time.Duration(s.Total-s.Done) * spent / time.Duration(r.ranTrials)
		if limit := time.Duration(r.experiment.Time); limit > 0 {
			s.Remaining = max(0, min(s.Remaining, limit-spent))
		}
	}
	return s
}
