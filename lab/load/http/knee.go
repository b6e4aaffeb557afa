package http

import (
	"context"
	"fmt"
	"io"
	"time"

	"weir/lab/load"
)

const (
	maxFailed = 0.01 // share of the requests that may fail below the knee
	// share of them that may be undecided at a window's end, beyond those under way all the time
	maxBacklog = 0.02
	// the search ends when what is good and what is not are so near, as a share of the rate
	kneeWidth    = 0.02
	confirmTimes = 3 // how much longer than a probe the confirmation takes
	maxConfirms  = 6
	backOff      = 0.95 // by which the rate goes down after a confirmation that failed
)

// Probe is one attempt at a rate.
type Probe struct {
	Rate    float64 `json:"rate"` // requests a second, 0 for the closed loop
	Good    bool    `json:"good"`
	Why     string  `json:"why,omitempty"`     // it is not good
	Confirm bool    `json:"confirm,omitempty"` // a long one
	Report  Report  `json:"report"`
}

// Knee is the highest rate that a server was seen to bear.
type Knee struct {
	Rate      float64 `json:"rate"` // requests a second; 0 when there is none
	LimitNS   int64   `json:"limit_ns"`
	Confirmed bool    `json:"confirmed"` // by a longer run at Rate
	// what was above Rate failed because this generator was late
	Generator bool `json:"generator"`
	// in the order in which they ran; the first is the closed loop that the search begins from
	Probes []Probe `json:"probes"`
}

// FindKnee looks for the highest rate at which under 1 % of the requests fail, the 99th percentile
// of the latency is at most limit, and the server doesn't fall ever further behind. It begins with
// what a closed loop reaches, doubles that until it is too much, bisects, and confirms what it
// found by a run of three times Config.Duration, going down by steps of 5 % while that fails. A
// rate counts as too much when it failed twice. c has no rate; each probe takes c.Duration. probed,
// which may be nil, is called after each one.
func FindKnee(ctx context.Context, c Config, limit time.Duration, ev load.Events, probed func(Probe)) (Knee, error) {
	s := search{knee: Knee{LimitNS: int64(limit)}}
	s.try = func(rate float64, confirm bool) (Probe, error) {
		d := c
		if d.Rate = rate; confirm {
			d.Duration *= confirmTimes
		}
		r, err := Run(ctx, d, ev)
		p := Probe{Rate: rate, Confirm: confirm, Report: r}
		p.Why = verdict(&r, limit)
		if p.Good = p.Why == ""; err == nil && probed != nil {
			probed(p)
		}
		return p, err
	}
	err := s.run()
	return s.knee, err
}

// verdict says why r is not what a server below its knee does, or nothing.
func verdict(r *Report, limit time.Duration) string {
	most := float64(limit) / 1e3
	switch {
	case r.Rate > 0 && r.LatenessUS.P99 > most/2:
		return generatorLate
	case float64(r.Failed) > maxFailed*float64(r.Offered):
		return fmt.Sprintf("%.2f %% of the requests failed", 100*float64(r.Failed)/float64(max(1, r.Offered)))
	case r.Rate > 0 && r.LatencyUS.P99 > most:
		return fmt.Sprintf("p99 %.3f ms", r.LatencyUS.P99/1e3)
	case r.Rate > 0 && fellBehind(r):
		return fmt.Sprintf("it fell behind: %.1f/s of %.1f/s", r.MessageRate, r.OfferedRate)
	case r.Messages == 0:
		return "nothing was answered"
	}
	return ""
}

// fellBehind says that the requests under way grew in number all the time: at the window's end more
// were undecided than the mean latency accounts for. A backlog that grows evenly is twice its mean
// at the end.
func fellBehind(r *Report) bool {
	undecided := float64(r.Offered - r.Messages - r.Failed)
	return undecided > maxBacklog*float64(r.Offered)+r.Rate*r.DueUS.Mean/1e6
}

const generatorLate = "this generator was late itself"

// search is the search without the load.
type search struct {
	try  func(rate float64, confirm bool) (Probe, error)
	knee Knee
	bad  string // why the lowest rate that is too much is that
}

func (s *search) run() error {
	first, err := s.attempt(0, false)
	if err != nil {
		return err
	}
	if !first.Good {
		return fmt.Errorf("load: no knee to be found: in the closed loop %s", first.Why)
	}
	good, bad, err := s.bracket(max(first.Report.MessageRate, 1))
	for err == nil && bad-good > kneeWidth*bad && bad > 2e-3 {
		var p Probe
		if p, err = s.attempt((good+bad)/2, false); p.Good {
			good = p.Rate
		} else {
			bad = p.Rate
		}
	}
	if err != nil {
		return err
	}
	s.knee.Generator = s.bad == generatorLate
	return s.confirm(good)
}

// bracket returns the highest rate known to be good, perhaps 0, and the lowest known to be too
// much.
func (s *search) bracket(rate float64) (good, bad float64, err error) {
	for {
		p, err := s.attempt(min(rate, MaxRate), false)
		switch {
		case err != nil || !p.Good:
			return good, p.Rate, err
		case rate >= MaxRate:
			return MaxRate, MaxRate, nil
		}
		good, rate = rate, 2*rate
	}
}

// attempt tries a rate, and a second time if it was too much.
func (s *search) attempt(rate float64, confirm bool) (p Probe, err error) {
	for range 2 {
		if p, err = s.try(rate, confirm); err != nil {
			return p, err
		}
		s.knee.Probes = append(s.knee.Probes, p)
		if p.Good {
			return p, nil
		}
	}
	s.bad = p.Why
	return p, nil
}

// confirm makes long runs at the given rate or somewhat below.
func (s *search) confirm(rate float64) error {
	for range maxConfirms {
		if rate < 1e-3 {
			return nil
		}
		p, err := s.attempt(rate, true)
		if err != nil {
			return err
		}
		if s.knee.Rate = rate; p.Good {
			s.knee.Confirmed = true
			return nil
		}
		rate *= backOff
	}
	s.knee.Rate = 0
	return nil
}

// WriteText writes k for a person to read.
func (k *Knee) WriteText(w io.Writer) error {
	text := StepTitle + "\n"
	for i := range k.Probes {
		p := &k.Probes[i]
		text += p.Text() + "\n"
	}
	limit := time.Duration(k.LimitNS)
	switch {
	case !k.Confirmed:
		text += fmt.Sprintf("\nno rate was seen to bear under 1 %% failures and a p99 of at most %v twice\n", limit)
	case k.Generator:
		text += fmt.Sprintf("\nat least %.1f requests/s with under 1 %% failures and a p99 of at most %v; above, %s\n", k.Rate, limit, generatorLate)
	default:
		text += fmt.Sprintf("\nthe knee is at %.1f requests/s: under 1 %% failures and a p99 of at most %v, confirmed\n", k.Rate, limit)
	}
	_, err := io.WriteString(w, text)
	return err
}

// Text is p as a line under StepTitle.
func (p *Probe) Text() string {
	line := p.Report.StepText()
	switch {
	case p.Rate == 0:
		return line + " (closed loop)"
	case !p.Good:
		return line + " (too much: " + p.Why + ")"
	case p.Confirm:
		return line + " (confirmed)"
	}
	return line
}
