package lab

import (
	"context"
	"math"

	"weir/lab/result"
)

// bisectSteps narrows a capacity down to about 3 %: the bracket is a factor of two wide at first.
const bisectSteps = 5

// saturate finds the capacity of every subject in every cell and measures variation and tail at shares of
// it. Each probe is a trial of its own, with a fresh process.
func (r *Runner) saturate(ctx context.Context) error {
	for _, cell := range r.plan.Cells {
		for _, s := range r.plan.Subjects {
			if err := r.saturateOne(ctx, Place{Cell: cell, Subject: s}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) saturateOne(ctx context.Context, p Place) error {
	c, err := r.capacity(ctx, p)
	if err != nil {
		return err
	}
	for _, share := range r.experiment.Saturation {
		l := r.load(p.Load)
		l.Rate, l.Bits = c.rate*float64(share)/100, 0
		t, err := r.trial(ctx, p, l, nil)
		if err != nil {
			return err
		}
		tail := t.LatencyUS
		if r.experiment.Workload != "echo" {
			tail = t.LatenessUS
		}
		r.results.Saturation = append(r.results.Saturation, result.Saturation{
			Subject: p.Subject, Connections: p.Connections, Pattern: p.Pattern,
			CapacityRate: c.rate * float64(p.Connections), GeneratorBound: c.generatorBound, SharePercent: float64(share),
			CPUPercentMean: t.CPUPercentMean, CPUCV: t.CPUCV, LatencyUS: tail, AchievedRatio: t.AchievedRatio,
		})
	}
	return nil
}

// capacity is the highest rate, in messages a second a connection, that a subject keeps up with.
type capacity struct {
	rate           float64
	generatorBound bool // the generator gave out first, so that the subject may be capable of more
}

// capacity doubles the rate until the subject no longer keeps up, then bisects, on a logarithmic scale.
func (r *Runner) capacity(ctx context.Context, p Place) (c capacity, err error) {
	l := r.load(p.Load)
	low, high := 0.0, l.Rate
	var last probe
	for ; ; high *= 2 {
		if last, err = r.probe(ctx, p, l, high); err != nil {
			return c, err
		}
		if !last.keptUp {
			break
		}
		low = high
	}
	c.generatorBound = last.generatorBound
	if low == 0 {
		low = high / 64
	}
	for range bisectSteps {
		middle := math.Sqrt(low * high)
		if last, err = r.probe(ctx, p, l, middle); err != nil {
			return c, err
		}
		if last.keptUp {
			low = middle
		} else {
			high, c.generatorBound = middle, last.generatorBound
		}
	}
	c.rate = low
	return c, nil
}

// probe is one trial of the search.
type probe struct{ keptUp, generatorBound bool }

// probe says whether the subject keeps up with a rate: nearly all that was offered got through, and, where
// there are echoes, they did not queue without end.
func (r *Runner) probe(ctx context.Context, p Place, l Load, rate float64) (probe, error) {
	l.Rate, l.Bits = rate, 0
	state := r.state(p)
	state.Phase, state.What = "searching the capacity of", p.Subject
	r.progress(state)
	t, err := r.trial(ctx, p, l, nil)
	if err != nil {
		return probe{}, err
	}
	const patience = 250_000 // microseconds: an echo that takes longer was waiting in a queue that grows
	kept := t.AchievedRatio >= 0.99 && float64(t.Behind) <= 0.01*float64(t.Messages) && t.LatencyUS.P99 <= patience && t.LatenessUS.P99 <= patience
	generatorCPU := t.LoadUSPerMsg * float64(t.Messages) / (1e6 * t.WindowS)
	return probe{keptUp: kept, generatorBound: generatorCPU > 0.9 && t.CPUPercentMean < 90*float64(max(1, len(r.results.Plan.ServerCPUs)))}, nil
}
