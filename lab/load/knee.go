package load

import (
	"context"
	"fmt"
	"io"
	"slices"
)

const (
	// smallest interval of the bisection, as a share of the rate
	kneeWidth = 0.02
	// how far around the knee each confirmation searches, as a share of the rate
	kneeNear = 0.15
	// confirmations; the range of five independent values contains their median with 94 %
	confirmations = 5
)

// Reported is the report of any load.
type Reported interface {
	Base() *Report
	WriteText(w io.Writer) error
}

// Base implements Reported for the reports that embed r.
func (r *Report) Base() *Report { return r }

// Search is a search for a knee.
type Search struct {
	Criterion
	From             float64 // messages a second of the first probe; 0: those of a closed loop
	MinRate, MaxRate float64 // the rates that Run takes, beside 0
	// offers the load at a rate, in a closed loop if that is 0
	Run    func(ctx context.Context, rate float64) (Reported, error)
	Probed func(Probe) // called after each probe; nil: not
}

// Probe is a run at one rate of a search.
type Probe struct {
	Rate   float64  `json:"rate"`          // messages a second; 0: closed loop
	Good   bool     `json:"good"`          // the server kept up
	Why    string   `json:"why,omitempty"` // why it is not good
	Report Reported `json:"report"`
}

// Knee is the highest rate that a server kept up with.
type Knee struct {
	Rate      float64 `json:"rate"` // messages a second, the median of Estimates; 0: none
	Low       float64 `json:"low"`  // the range of Estimates
	High      float64 `json:"high"`
	Criterion string  `json:"criterion"`
	LimitNS   int64   `json:"limit_ns"`  // of the criterion
	Confirmed bool    `json:"confirmed"` // every confirmation found a rate
	// this generator cannot offer more: it was late, or the rate is its highest
	Generator bool      `json:"generator"`
	Estimates []float64 `json:"estimates"` // one of each confirmation
	Probes    []Probe   `json:"probes"`    // in the order in which they ran
}

// FindKnee searches for the highest rate at which less than 1 % of the messages fail, the latency
// keeps the criterion, and the backlog does not grow. It doubles the first rate until it is too
// high, and bisects. A rate is too high if it fails twice. Five confirmations then bisect anew near
// the result: their median is the knee, and their range the interval.
func FindKnee(ctx context.Context, s Search) (Knee, error) {
	f := finder{Search: s, ctx: ctx, knee: Knee{Criterion: s.Criterion.String(), LimitNS: int64(s.Limit)}}
	if err := s.check(); err != nil {
		return f.knee, err
	}
	err := f.find()
	return f.knee, err
}

// finder is a search in progress.
type finder struct {
	Search
	ctx  context.Context
	knee Knee
	bad  string // why the last rate that failed did
}

func (f *finder) find() error {
	if f.From == 0 {
		first, err := f.attempt(0)
		if err != nil {
			return err
		}
		if !first.Good {
			return fmt.Errorf("load: there is no knee: in the closed loop %s", first.Why)
		}
		f.From = max(first.Report.Base().MessageRate, 1)
	}
	good, bad, err := f.bracket(f.From)
	if err == nil {
		good, err = f.bisect(good, bad)
	}
	f.knee.Generator = f.bad == generatorLate || good >= f.MaxRate
	for i := 0; i < confirmations && good > 0 && err == nil; i++ {
		var estimate float64
		estimate, err = f.confirm(good)
		f.knee.Estimates = append(f.knee.Estimates, estimate)
	}
	if sorted := slices.Sorted(slices.Values(f.knee.Estimates)); err == nil && len(sorted) > 0 {
		f.knee.Low, f.knee.Rate, f.knee.High = sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
		f.knee.Confirmed = f.knee.Low > 0
	}
	return err
}

// bracket returns the highest rate known to be good (0: none) and the lowest known to be too high.
func (f *finder) bracket(rate float64) (good, bad float64, err error) {
	for {
		p, err := f.attempt(min(rate, f.MaxRate))
		switch {
		case err != nil || !p.Good:
			return good, p.Rate, err
		case rate >= f.MaxRate:
			return f.MaxRate, f.MaxRate, nil
		}
		good, rate = rate, 2*rate
	}
}

// bisect returns the highest rate found to be good between a good rate, or 0, and one that is too
// high.
func (f *finder) bisect(good, bad float64) (float64, error) {
	for bad-good > kneeWidth*bad && bad > 2*f.MinRate {
		p, err := f.attempt((good + bad) / 2)
		switch {
		case err != nil:
			return 0, err
		case p.Good:
			good = p.Rate
		default:
			bad = p.Rate
		}
	}
	return good, nil
}

// confirm searches anew near a rate.
func (f *finder) confirm(rate float64) (float64, error) {
	p, err := f.attempt(rate * (1 - kneeNear))
	if err != nil {
		return 0, err
	}
	if !p.Good {
		return f.bisect(0, p.Rate)
	}
	return f.bisect(p.Rate, min(rate*(1+kneeNear), f.MaxRate))
}

// attempt tries a rate, and a second time if the first fails.
func (f *finder) attempt(rate float64) (p Probe, err error) {
	for range 2 {
		r, err := f.Run(f.ctx, rate)
		if err != nil {
			return p, err
		}
		p = Probe{Rate: rate, Why: f.Verdict(rate, r.Base()), Report: r}
		p.Good = p.Why == ""
		f.knee.Probes = append(f.knee.Probes, p)
		if f.Probed != nil {
			f.Probed(p)
		}
		if p.Good {
			return p, nil
		}
	}
	f.bad = p.Why
	return p, nil
}

// WriteText writes k as text.
func (k *Knee) WriteText(w io.Writer) error {
	text := StepTitle + "\n"
	for _, p := range k.Probes {
		text += p.Text() + "\n"
	}
	what := "less than 1 % failures and " + k.Criterion
	switch {
	case !k.Confirmed:
		text += fmt.Sprintf("\nno rate had %s whenever it was tried\n", what)
	case k.Generator:
		text += fmt.Sprintf("\nat least %.1f/s with %s: this generator cannot offer more\n", k.Low, what)
	default:
		text += fmt.Sprintf("\nthe knee is at %.1f/s, from %.1f to %.1f in %d searches: %s\n", k.Rate, k.Low, k.High, len(k.Estimates), what)
	}
	_, err := io.WriteString(w, text)
	return err
}

// Text formats p as a line under StepTitle.
func (p *Probe) Text() string {
	line := p.Report.Base().StepText()
	switch {
	case p.Rate == 0:
		return line + " (closed loop)"
	case !p.Good:
		return line + " (too high: " + p.Why + ")"
	}
	return line
}

// StepTitle is the heading of a table of runs.
const StepTitle = "  attempted/s  answered/s  failed %   p50 ms    p99 ms    max ms  late p99 ms  errors"

// StepText formats r as a line under StepTitle.
func (r *Report) StepText() string {
	return fmt.Sprintf("%13.1f %11.1f %9.2f %8.3f %9.3f %9.3f %12.3f  %s", r.OfferedRate, r.MessageRate, 100*Ratio(r.Failed, r.Offered),
		r.LatencyUS.P50/1e3, r.LatencyUS.P99/1e3, r.LatencyUS.Max/1e3, r.LatenessUS.P99/1e3, r.Trouble())
}
