package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// kneesFile is the journal of the searches for knees: one result.KneeProbe per line.
const kneesFile = "knees.jsonl"

// kneeStreams is the first purpose for Plan.randomStream in rounds of probes for knees.
const kneeStreams = 1 << 33

// typicalKneeProbes is the expected number of probes in a search for a knee.
const typicalKneeProbes = 40

// errKneeStopped ends a search for want of time.
var errKneeStopped = errors.New("there was no time for more searches")

// kneeSearch is the search for the knee of one subject in one cell. load.FindKnee runs as a
// coroutine: next continues it with the report of the last rate until it asks for another.
type kneeSearch struct {
	place    Place
	probed   int // number of rates that were tried
	reported load.Report
	next     func() (rate float64, more bool)
	stop     func()
	knee     load.Knee
	err      error
}

// newKneeSearch prepares a search; its Run is replaced. stop must be called.
func newKneeSearch(p Place, s load.Search) *kneeSearch {
	k := &kneeSearch{place: p}
	k.next, k.stop = iter.Pull(func(yield func(float64) bool) {
		s.Run = func(_ context.Context, rate float64) (load.Reported, error) {
			if !yield(rate) {
				return nil, errKneeStopped
			}
			return &kneeReport{k.reported}, nil
		}
		k.knee, k.err = load.FindKnee(context.Background(), s)
	})
	return k
}

// kneeReport is a generator's report without what only its workload has.
type kneeReport struct{ load.Report }

// WriteText implements load.Reported.
func (r *kneeReport) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, r.StepText()+"\n")
	return err
}

// found returns what a finished or stopped search found. A stopped one has the estimates of the
// confirmations that it completed.
func (k *kneeSearch) found() result.Knee {
	f := result.Knee{Subject: k.place.Subject, Load: k.place.Load, Connections: k.place.Connections, Pattern: k.place.Pattern, Criterion: k.knee.Criterion,
		GeneratorBound: k.knee.Generator, Estimates: slices.Clone(k.knee.Estimates)}
	if k.err != nil {
		f.Why = k.err.Error()
		f.Estimates = f.Estimates[:max(0, len(f.Estimates)-1)] // the last was not completed
	}
	if sorted := slices.Sorted(slices.Values(f.Estimates)); len(sorted) > 0 {
		f.Low, f.Rate, f.High = sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
		f.Confirmed = k.err == nil && f.Low > 0
	}
	return f
}

// knees is a run that searches for knees. It belongs to the runner's goroutine.
type knees struct {
	*Runner
	criterion load.Criterion
	probes    *journal[result.KneeProbe]
	rate      float64 // offered messages a second, all connections; 0: a closed loop
}

// findKnees searches for the knee of every subject in every cell. In each round every subject of a
// cell has one probe, in random order, so that a drift of the machine affects all alike. Each probe
// is a trial of its own, with a fresh process, and is stored as it ends. A resumed run passes the
// stored probes to its searches again.
func (r *Runner) findKnees(ctx context.Context) error {
	criterion, err := load.ParseCriterion(r.experiment.Knee)
	if err != nil {
		return err
	}
	k := &knees{Runner: r, criterion: criterion}
	if k.probes, r.results.KneeProbes, err = openJournal[result.KneeProbe](filepath.Join(r.store.dir, kneesFile)); err != nil {
		return fmt.Errorf("lab: cannot continue the search for knees: %w", err)
	}
	defer k.probes.close()
	r.knees, r.results.Knees = k, nil
	defer func() { r.knees = nil }()
	for _, cell := range r.plan.Cells {
		if err := k.searchCell(ctx, cell); err != nil {
			return err
		}
	}
	return nil
}

// searchCell searches for the knees of all subjects of a cell.
func (k *knees) searchCell(ctx context.Context, c workload.Cell) error {
	var active []*kneeSearch
	for _, subject := range k.plan.subjectsFor(c) {
		s := newKneeSearch(Place{Cell: c, Subject: subject}, load.Search{Criterion: k.criterion,
			From: k.loadNamed(c.Load).Shared().Rate * float64(c.Connections), MinRate: load.MinRate * float64(c.Connections), MaxRate: k.experiment.kind().Traits().MaxKnee(c.Connections)})
		defer s.stop()
		active = append(active, s)
	}
	all := slices.Clone(active)
	for round := uint64(0); len(active) > 0; round++ {
		random := k.plan.randomStream(kneeStreams + round)
		random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		for _, s := range slices.Clone(active) {
			more, err := k.step(ctx, s)
			if err != nil {
				return err
			}
			if !more {
				active = slices.DeleteFunc(active, func(other *kneeSearch) bool { return other == s })
			}
		}
	}
	for _, s := range all {
		k.results.Knees = append(k.results.Knees, s.found())
	}
	return nil
}

// step tries the next rate of a search. It returns false when the search is over.
func (k *knees) step(ctx context.Context, s *kneeSearch) (more bool, err error) {
	rate, more := s.next()
	if !more {
		return false, nil
	}
	probe, known := k.earlier(s)
	if !known {
		if k.outOfTime(1) {
			s.stop()
			return false, nil
		}
		if probe, err = k.probe(ctx, s.place, rate); err != nil {
			return false, err
		}
		if err := k.probes.add(probe); err != nil {
			return false, err
		}
		k.results.KneeProbes = append(k.results.KneeProbes, probe)
	}
	s.probed++
	s.reported = reportOf(probe)
	return true, nil
}

// earlier returns the next probe of a search that an interrupted run has made.
func (k *knees) earlier(s *kneeSearch) (result.KneeProbe, bool) {
	n := 0
	for _, p := range k.results.KneeProbes {
		if p.Subject != s.place.Subject || p.Load != s.place.Load || p.Connections != s.place.Connections || p.Pattern != s.place.Pattern {
			continue
		}
		if n == s.probed {
			return p, true
		}
		n++
	}
	return result.KneeProbe{}, false
}

// probe tries a rate. A trial with an external disturbance proves nothing unless the subject kept
// up; it is repeated, and the last attempt counts in any case.
func (k *knees) probe(ctx context.Context, p Place, rate float64) (result.KneeProbe, error) {
	l := k.loadNamed(p.Load).Clone()
	l.Shared().Rate = rate / float64(p.Connections)
	at := p
	if pattern := l.Pattern(); pattern != "" {
		at.Pattern = pattern
	}
	for attempt := 1; ; attempt++ {
		k.rate, k.reported = rate, load.Report{}
		k.progress(k.progressFor(p))
		started := time.Now()
		t, err := k.trial(ctx, at, l, nil)
		if err != nil {
			return result.KneeProbe{}, err
		}
		k.trialsRun++
		found := probeOfKnee(p, rate, &t, &k.reported)
		found.Attempts, found.Started = attempt, started
		if found.Why = k.criterion.Verdict(rate, &k.reported); found.Why != "" {
			found.DisturbedBy = externalReasons(t.RejectedBecause)
		}
		if len(found.DisturbedBy) == 0 || attempt == maxAttempts {
			return found, nil
		}
	}
}

func probeOfKnee(p Place, rate float64, t *result.Trial, r *load.Report) result.KneeProbe {
	return result.KneeProbe{
		Subject: p.Subject, Load: p.Load, Connections: p.Connections, Pattern: p.Pattern, Rate: rate,
		OfferedRate: r.OfferedRate, MessageRate: r.MessageRate, Offered: r.Offered, Messages: r.Messages, Failed: r.Failed,
		LatencyUS: r.LatencyUS, LatenessUS: r.LatenessUS, CPUPercentMean: t.CPUPercentMean, CPUUSPerMessage: t.CPUUSPerMessage, LoadPercent: workload.LoadPercent(t),
		FailedBecause: t.FailedBecause,
	}
}

// reportOf returns the part of a generator's report that a criterion judges.
func reportOf(p result.KneeProbe) load.Report {
	return load.Report{OfferedRate: p.OfferedRate, MessageRate: p.MessageRate, Offered: p.Offered, Messages: p.Messages, Failed: p.Failed, LatencyUS: p.LatencyUS, LatenessUS: p.LatenessUS}
}

// progressAt returns the state of the run. The length of a search is estimated.
func (k *knees) progressAt(p Place) Progress {
	at := Progress{Phase: "trial", What: p.baseSubject(), Place: p, Step: "searching its knee", Rate: k.rate, CPU: noCPU, Done: len(k.results.KneeProbes), Unit: k.experiment.Unit()}
	for _, cell := range k.plan.Cells {
		at.Total += typicalKneeProbes * len(k.plan.subjectsFor(cell))
	}
	at.Total = max(at.Total, at.Done+1)
	at.Remaining = k.remaining(at.Total - at.Done)
	return at
}

// keepOneRate leaves out the loads that differ from an earlier one in the rate alone on the same
// connections, because a search for a knee chooses the rate. The loads must be valid.
func (e *Experiment) keepOneRate() {
	type key struct {
		load        result.Load
		connections int
	}
	seen := map[key]bool{}
	var kept []workload.Load
	for _, l := range e.Loads {
		alike, rest := l.Recorded(), []int{}
		alike.Name, alike.SweepOf, alike.Rate, alike.Requests.Pattern = "", "", 0, ""
		for _, n := range e.connectionsOf(l) {
			if k := (key{alike, n}); !seen[k] {
				seen[k] = true
				rest = append(rest, n)
			}
		}
		switch {
		case len(rest) == 0:
			continue
		case len(rest) < len(e.connectionsOf(l)):
			l = l.Clone()
			l.Shared().Connections = rest
		}
		kept = append(kept, l)
	}
	e.Loads = kept
}
