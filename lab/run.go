package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/lab/compare"
	"weir/lab/internal/network"
	"weir/lab/result"
	"weir/lab/sample"
)

// Options say how an experiment is run, as opposed to what it asks.
type Options struct {
	Out          string   // directory of the run; made if needed
	Root         string   // of the project, whose subjects/ holds the subjects
	Required     []string // names of subjects without which the run is not wanted
	SubjectFiles []string // further subject.toml files, whose subjects are required
	Targets      []string // HOST:PORT of servers that run elsewhere
	Seed         uint64
	ServerCPUs   int      // cores for the subject, 1 or more
	Namespace    bool     // put the two ends into network namespaces of their own
	Quick        bool     // recorded in the plan
	Reasons      bool     // after the trials, count system calls and switches
	Generator    []string // the command of weir load
	Command      string   // that repeats the run
	Weir         string   // the version of the lab, for the results
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
	begun      *head             // what a resumed run was begun with; nil for a new one
	programs   map[string]string // a digest of each subject's program, and of the lab's own
	progress   func(Progress)
	// the folder that subjects serve, absolute; empty where the workload is not HTTP's
	www       string
	began     time.Time
	ranTrials int

	readyWithin time.Duration // for a subject to get ready; 0: the usual time
	shares      *saturation   // while capacities are searched and shares of them measured
}

// NewRunner prepares a run of e: makes the directory, chooses the cores, finds and builds the
// subjects, lays out the plan. Progress, which may be nil, is called from the goroutine that calls
// Run and must return soon. Close must be called. After an error nothing is left of the run.
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
		err = store.begin(head{Results: *r.results, Experiment: *e, Options: o, Programs: r.programs})
	}
	if err != nil {
		store.discard()
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func absolute(files []string) []string {
	all := make([]string, len(files))
	for i, f := range files {
		if all[i] = f; !filepath.IsAbs(f) {
			all[i], _ = filepath.Abs(f) // fails only where there is no current folder
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

// prepare finds out where the trials run, gathers the subjects and lays out the plan.
func (r *Runner) prepare(ctx context.Context) error {
	ruler, err := currentRuler()
	if err != nil {
		return err
	}
	r.results.Rulers = []result.Ruler{ruler}
	if r.site, err = newSite(r.options.ServerCPUs, r.experiment.loadCPUs(), r.options.Namespace); err != nil {
		return err
	}
	if r.experiment.stack() {
		if err := r.prepareStacks(); err != nil {
			return err
		}
	}
	if ns := r.site.server.Netns; ns != "" {
		r.results.Machine.Congestion = network.Setting(ns, "tcp_congestion_control")
	}
	p := &r.results.Plan
	p.Quick, p.ServerCPUs, p.LoadCPUs, p.Namespace = r.options.Quick, r.site.server.CPUs, r.site.load.CPUs, r.options.Namespace
	if err := r.refuseOtherPlace(); err != nil {
		return err
	}
	if r.experiment.http() {
		if r.www, err = makeWWW(r.store.dir); err != nil {
			return err
		}
	}
	if err := r.findSubjects(ctx); err != nil {
		return err
	}
	if err := r.refuseOtherPrograms(); err != nil {
		return err
	}
	r.onlyWithInside()
	r.plan = NewPlan(r.experiment, r.results.Subjects, r.options.Seed)
	p.Twin = r.plan.Twin
	r.sayUnmet()
	return nil
}

// sayUnmet says which loads are left out because nobody who takes part meets them.
func (r *Runner) sayUnmet() {
	for _, l := range r.experiment.Loads {
		if only, ok := r.plan.Only[l.Name]; ok && len(only) == 0 {
			r.progress(Progress{Phase: "leaving out", What: fmt.Sprintf("the load %s: it is for %s, and none of them takes part", l.Name, strings.Join(l.Subjects, ", ")), CPU: -1})
		}
	}
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

// Close gives back what NewRunner or Resume took. The run's files stay.
func (r *Runner) Close() error {
	r.store.close()
	if r.site == nil {
		return nil
	}
	return r.site.close()
}

// Run runs the trials that are still to be run, compares, and writes results.json. When ctx ends,
// or a subject fails, it stops early, and what was finished is kept and compared all the same: the
// results are valid even beside an error.
func (r *Runner) Run(ctx context.Context) (*result.Results, error) {
	r.portability(ctx)
	r.began = time.Now()
	work := r.trials
	if len(r.experiment.Saturation) > 0 {
		work = r.saturate
	}
	err := work(ctx)
	if err == nil {
		err = r.store.save(r.results) // what comes now takes its time, and may be interrupted
	}
	if err == nil {
		err = r.explain(ctx)
	}
	if err == nil {
		r.results.Finished = time.Now()
	}
	r.results.Comparisons = append(r.results.Comparisons[:0], compare.All(r.results)...)
	return r.results, errors.Join(err, r.store.save(r.results))
}

// trials runs the blocks of the plan, as many as fit the experiment's time. The first round is
// always run: without it there is nothing to compare.
func (r *Runner) trials(ctx context.Context) error {
	skip := done(r.results.Trials)
	r.announce(skip)
	r.warnOfWarmUps()
	first := 0 // places of the first round that are still to come
	for _, c := range r.plan.cellsOf(0) {
		first += r.plan.BlockLen(c)
	}
	for block := range r.plan.All() {
		if block[0].Block > 0 && r.outOfTime(len(block)) {
			return nil
		}
		for i, p := range block {
			toCome := len(block) - i - 1
			if p.Block == 0 {
				first--
				toCome = first
			}
			if skip[p] {
				continue
			}
			if err := r.place(ctx, p, toCome); err != nil {
				return err
			}
		}
	}
	return nil
}

// outOfTime says whether n more trials would go beyond the experiment's time.
func (r *Runner) outOfTime(n int) bool {
	limit := time.Duration(r.experiment.Time)
	return limit > 0 && r.ranTrials > 0 && !fits(limit, time.Since(r.began), r.ranTrials, n)
}

// fits says whether more trials end within the limit, if each takes as long as those that ran did
// on average.
func fits(limit, spent time.Duration, ran, more int) bool {
	return spent+time.Duration(more)*spent/time.Duration(ran) <= limit
}

// place runs a place of the plan until it is settled. A refused trial is run again only while that
// leaves enough time for the places to come, which have had no trial at all.
func (r *Runner) place(ctx context.Context, p Place, toCome int) error {
	for attempt := r.attempts(p) + 1; attempt <= maxAttempts; attempt++ {
		r.progress(r.state(p))
		t, err := r.trial(ctx, p, r.load(p.Load), nil)
		if err != nil {
			return err
		}
		t.ID, t.Attempt = len(r.results.Trials)+1, attempt
		if err := r.store.trials.add(t); err != nil {
			return err
		}
		r.results.Trials = append(r.results.Trials, t)
		r.ranTrials++
		if settled(&t) || r.outOfTime(1+toCome) {
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
	Phase     string // "building", "leaving out", "trial", "measuring", …
	What      string // the subject, or what is being done
	Place     Place
	Done      int           // trials accepted or given up
	Total     int           // trials in the plan
	Refused   int           // trials refused so far
	Remaining time.Duration // estimated; 0 while unknown
	CPU       float64       // of the running trial, in percent of a core; negative while unknown
	Last      *result.Trial // the trial that ended most recently
	Unit      string        // what a message is: "message", "request"
	Step      string        // what a run that measures at shares of capacity is at; empty in others
	Rate      float64       // messages a second over all connections that it offers for that
}

func (r *Runner) state(p Place) Progress {
	if r.shares != nil {
		return r.shares.progressAt(p)
	}
	s := Progress{Phase: "trial", What: p.base(), Place: p, Total: r.plan.Trials(), CPU: -1, Unit: r.experiment.unit()}
	for i := range r.results.Trials {
		if settled(&r.results.Trials[i]) {
			s.Done++
		} else {
			s.Refused++
		}
	}
	if n := len(r.results.Trials); n > 0 {
		s.Last = &r.results.Trials[n-1]
	}
	s.Remaining = r.remaining(s.Total - s.Done)
	return s
}

// remaining estimates how long so many more trials will take, 0 while nothing is known of it.
func (r *Runner) remaining(toGo int) time.Duration {
	if r.ranTrials == 0 {
		return 0
	}
	spent := time.Since(r.began)
	left := time.Duration(toGo) * spent / time.Duration(r.ranTrials)
	if limit := time.Duration(r.experiment.Time); limit > 0 {
		left = max(0, min(left, limit-spent))
	}
	return left
}
