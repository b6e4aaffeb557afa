package lab

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"weir/lab/result"
	"weir/lab/workload"
)

// The journals of a run at shares of capacity.
const (
	probesFile     = "probes.jsonl"     // one result.Probe per line
	saturationFile = "saturation.jsonl" // one result.Saturation per line
)

// shareStreams is the first purpose for Plan.randomStream in rounds of shares.
const shareStreams = 1 << 32

// typicalProbes is the expected number of probes in a search.
const typicalProbes = 9

// A sharePlace is one measurement of the plan: a place, and the share of its subject's capacity in
// percent.
type sharePlace struct {
	Place
	Share int
}

// Shares yields the rounds of measurements at shares of capacity: every subject at every share of a
// cell in random order, and once more in the mirrored order.
func (p Plan) Shares(shares []int) iter.Seq[[]sharePlace] {
	return func(yield func([]sharePlace) bool) {
		for round := range p.Blocks {
			r := p.randomStream(shareStreams + uint64(round))
			for _, c := range r.Perm(len(p.Cells)) {
				if !yield(p.shareRound(r, p.Cells[c], round, shares)) {
					return
				}
			}
		}
	}
}

func (p Plan) shareRound(r *rand.Rand, c workload.Cell, round int, shares []int) []sharePlace {
	var places []sharePlace
	for _, s := range p.subjectsFor(c) {
		for _, share := range shares {
			places = append(places, sharePlace{Place{Cell: c, Block: round, Subject: s}, share})
		}
	}
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for i := range slices.Backward(places[:len(places):len(places)]) {
		places = append(places, places[i])
	}
	for i := range places {
		places[i].Position = i
	}
	return places
}

// saturation is a run at shares of capacity. It belongs to the runner's goroutine.
type saturation struct {
	*Runner
	probes   *journal[result.Probe]
	measured *journal[result.Saturation]
	step     string  // the current activity, shown as progress
	rate     float64 // offered messages a second, all connections
}

// saturate finds the capacity of every subject in every cell, and then measures at shares of it.
// Each probe and each measurement is a trial of its own, with a fresh process, and is stored as it
// ends, so that an interrupted run can be resumed.
func (r *Runner) saturate(ctx context.Context) error {
	s := &saturation{Runner: r}
	if err := s.open(); err != nil {
		return err
	}
	defer s.close()
	r.saturation = s
	defer func() { r.saturation = nil }()
	for _, cell := range r.plan.Cells {
		for _, subject := range r.plan.subjectsFor(cell) {
			if err := s.searchCapacity(ctx, Place{Cell: cell, Subject: subject}); err != nil {
				return err
			}
		}
	}
	return s.measureAll(ctx)
}

// open reads the probes and measurements of an interrupted run.
func (s *saturation) open() (err error) {
	if s.probes, s.results.Probes, err = openJournal[result.Probe](filepath.Join(s.store.dir, probesFile)); err != nil {
		return fmt.Errorf("lab: cannot continue the search for capacities: %w", err)
	}
	if s.measured, s.results.Saturation, err = openJournal[result.Saturation](filepath.Join(s.store.dir, saturationFile)); err != nil {
		s.probes.close()
		return fmt.Errorf("lab: cannot continue the measurements: %w", err)
	}
	return nil
}

func (s *saturation) close() {
	s.probes.close()
	s.measured.close()
}

// bracket returns the probes that enclose the capacity of a place's subject.
func (s *saturation) bracket(p Place) (kept, gaveOut result.Probe) {
	return s.results.Bracket(p.Subject, p.Load, p.Connections, p.Pattern)
}

// nextRate returns the rate that a search tries next; 0 when it is over.
func (s *saturation) nextRate(p Place) float64 {
	kept, gaveOut := s.bracket(p)
	return nextProbeRate(s.loadNamed(p.Load).Shared().Rate*float64(p.Connections), kept.Rate, gaveOut.Rate, s.experiment.kind().Traits().MaxRate(p.Connections))
}

func (s *saturation) searchCapacity(ctx context.Context, p Place) error {
	for rate := s.nextRate(p); rate > 0; rate = s.nextRate(p) {
		s.step, s.rate = "searching its capacity", rate
		probe, err := s.probe(ctx, p)
		if err == nil {
			err = s.probes.add(probe)
		}
		if err != nil {
			return err
		}
		s.results.Probes = append(s.results.Probes, probe)
	}
	return nil
}

// probe tries the current rate. A trial with an external disturbance proves nothing unless the
// subject kept up; it is repeated, and the last attempt counts in any case.
func (s *saturation) probe(ctx context.Context, p Place) (result.Probe, error) {
	for attempt := 1; ; attempt++ {
		t, l, err := s.runAtRate(ctx, p)
		if err != nil {
			return result.Probe{}, err
		}
		probe := judgeProbe(&t, l.Recorded(), s.coresFor(s.subjects[p.baseSubject()].Target == ""))
		probe.Rate, probe.Attempts = s.rate, attempt
		if len(probe.DisturbedBy) == 0 || attempt == maxAttempts {
			return probe, nil
		}
	}
}

// runAtRate runs a trial at the current rate.
func (s *saturation) runAtRate(ctx context.Context, p Place) (result.Trial, workload.Load, error) {
	s.progress(s.progressFor(p))
	l := s.loadNamed(p.Load).Clone()
	l.Shared().Rate = s.rate / float64(p.Connections)
	t, err := s.trial(ctx, p, l, nil)
	s.trialsRun++
	return t, l, err
}

func (s *saturation) measureAll(ctx context.Context) error {
	for places := range s.plan.Shares(s.experiment.Saturation) {
		if places[0].Block > 0 && s.outOfTime(len(places)) {
			return nil
		}
		for _, p := range places {
			if err := s.measureShare(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureShare measures a place until a measurement is accepted or maxAttempts are rejected. It
// does nothing for a subject whose capacity was not found.
func (s *saturation) measureShare(ctx context.Context, p sharePlace) error {
	kept, gaveOut := s.bracket(p.Place)
	if kept.Rate == 0 {
		return nil
	}
	s.step, s.rate = fmt.Sprintf("at %d %% of its capacity, round %d", p.Share, p.Block+1), kept.Rate*float64(p.Share)/100
	for tried, done := s.attemptsAt(p); !done; tried, done = s.attemptsAt(p) {
		t, _, err := s.runAtRate(ctx, p.Place)
		if err != nil {
			return err
		}
		m := measurementOf(&t, p)
		m.CapacityRate, m.GeneratorBound, m.Attempt = kept.Rate, gaveOut.Rate == 0 || gaveOut.GeneratorBound, tried+1
		if err := s.measured.add(m); err != nil {
			return err
		}
		s.results.Saturation = append(s.results.Saturation, m)
		if s.outOfTime(1) {
			return nil
		}
	}
	return nil
}

func measurementOf(t *result.Trial, p sharePlace) result.Saturation {
	why := shareRejections(t)
	return result.Saturation{
		Subject: t.Subject, Load: t.Load, Connections: t.Connections, Pattern: t.Pattern, SharePercent: float64(p.Share),
		Round: p.Block, Position: p.Position, Started: t.Started,
		CPUPercentMean: t.CPUPercentMean, CPUCV: t.CPUCV, LatencyUS: t.LatencyUS, LatenessUS: t.LatenessUS,
		AchievedRatio: t.AchievedRatio, Behind: t.Behind, LoadPercent: workload.LoadPercent(t),
		FailedBecause: t.FailedBecause, Accepted: len(why) == 0, RejectedBecause: why,
	}
}

// attemptsAt returns how often a place was measured, and whether it needs no further attempt.
func (s *saturation) attemptsAt(p sharePlace) (tried int, done bool) {
	for _, m := range s.results.Saturation {
		if placeOfShare(m) == p {
			tried, done = tried+1, done || m.Accepted
		}
	}
	return tried, done || tried >= maxAttempts
}

func placeOfShare(m result.Saturation) sharePlace {
	return sharePlace{Place{Cell: workload.Cell{Load: m.Load, Connections: m.Connections, Pattern: m.Pattern}, Block: m.Round, Position: m.Position, Subject: m.Subject}, int(m.SharePercent)}
}

// progressAt returns the state of the run. The length of a search is not known before it is over,
// so it is estimated.
func (s *saturation) progressAt(p Place) Progress {
	at := Progress{Phase: "trial", What: p.baseSubject(), Place: p, Step: s.step, Rate: s.rate, CPU: -1, Done: len(s.results.Probes)}
	at.Total = at.Done
	for _, cell := range s.plan.Cells {
		for _, subject := range s.plan.subjectsFor(cell) {
			if q := (Place{Cell: cell, Subject: subject}); s.nextRate(q) > 0 {
				at.Total += max(1, typicalProbes-s.probesOf(q))
			}
		}
	}
	for places := range s.plan.Shares(s.experiment.Saturation) {
		at.Total += len(places)
		for _, q := range places {
			if tried, done := s.attemptsAt(q); done {
				at.Done++
				at.Rejected += tried - 1
			} else {
				at.Rejected += tried
			}
		}
	}
	at.Remaining = s.remaining(at.Total - at.Done)
	return at
}

func (s *saturation) probesOf(p Place) int {
	n := 0
	for _, x := range s.results.Probes {
		if x.Subject == p.Subject && (workload.Cell{Load: x.Load, Connections: x.Connections, Pattern: x.Pattern}) == p.Cell {
			n++
		}
	}
	return n
}
