package httpload

import (
	"context"
	"fmt"
	"io"
	"time"

	"weir/lab/load"
)

const (
	maxFailed = 0.01 // largest share of failed requests below the knee
	// largest share of the requests in the backlog at the end of a window
	maxBacklog = 0.02
	// smallest interval of the bisection, as a share of the rate
	kneeWidth    = 0.02
	confirmTimes = 3 // length of a confirmation, in probes
	maxConfirms  = 6
	backOff      = 0.95 // factor of the rate after a failed confirmation
)

// Probe is a run at one rate of the search.
type Probe struct {
	Rate    float64 `json:"rate"`              // requests per second; 0: closed loop
	Good    bool    `json:"good"`              // the server kept up
	Why     string  `json:"why,omitempty"`     // why it is not good
	Confirm bool    `json:"confirm,omitempty"` // a longer run, to confirm the knee
	Report  Report  `json:"report"`
}

// Knee is the highest rate that a server kept up with.
type Knee struct {
	Rate      float64 `json:"rate"`      // requests per second; 0: none
	LimitNS   int64   `json:"limit_ns"`  // of the 99th percentile of the latency
	Confirmed bool    `json:"confirmed"` // by a longer run at Rate
	// higher rates failed because this generator was late
	Generator bool `json:"generator"`
	// in the order in which they ran; the first is the closed loop at the start of the search
	Probes []Probe `json:"probes"`
}

// FindKnee searches for the highest rate at which less than 1 % of the requests fail, the 99th
// percentile of the latency is at most limit, and the backlog does not grow. It starts with the
// rate of a closed loop, doubles it until it is too high, and bisects. It confirms the result by a
// run of three times Config.Duration, and lowers it by 5 % while that fails. A rate is too high if
// it fails twice. The rate of c is ignored; each probe takes c.Duration. probed, which may be nil,
// is called after each one.
func FindKnee(ctx context.Context, c Config, limit time.Duration, ev load.Events, probed func(Probe)) (Knee, error) {
	s := search{knee: Knee{LimitNS: int64(limit)}}
	s.try = func(rate float64, confirm bool) (Probe, error) {
		d := c
		if d.Rate = rate; confirm {
			d.Duration *= confirmTimes
		}
		if rate == 0 {
			d.Pattern = ""
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

// verdict returns why the server did not keep up in r, or "".
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

// fellBehind reports whether the backlog grew throughout the window: more requests were incomplete
// at its end than the mean latency explains (Little's law). A backlog that grows evenly is twice
// its mean at the end.
func fellBehind(r *Report) bool {
	undecided := float64(r.Offered - r.Messages - r.Failed)
	return undecided > maxBacklog*float64(r.Offered)+r.Rate*r.DueUS.Mean/1e6
}

// generatorLate is the verdict on a probe whose schedule the generator did not keep.
const generatorLate = "this generator was late itself"

// search is the algorithm of FindKnee, separate from the load.
type search struct {
	try  func(rate float64, confirm bool) (Probe, error)
	knee Knee
	bad  string // why the last rate that failed did
}

func (s *search) run() error {
	first, err := s.attempt(0, false)
	if err != nil {
		return err
	}
	if !first.Good {
		return fmt.Errorf("load: there is no knee: in the closed loop %s", first.Why)
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

// bracket returns the highest rate known to be good (0: none) and the lowest known to be too high.
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

// attempt tries a rate, and a second time if the first fails.
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

// confirm makes long runs at the given rate, and at lower ones while they fail.
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

// WriteText writes k as text.
func (k *Knee) WriteText(w io.Writer) error {
	text := StepTitle + "\n"
	for i := range k.Probes {
		p := &k.Probes[i]
		text += p.Text() + "\n"
	}
	limit := time.Duration(k.LimitNS)
	switch {
	case !k.Confirmed:
		text += fmt.Sprintf("\nno rate had less than 1 %% failures and a p99 of at most %v twice\n", limit)
	case k.Generator:
		text += fmt.Sprintf("\nat least %.1f requests/s with less than 1 %% failures and a p99 of at most %v; above, %s\n", k.Rate, limit, generatorLate)
	default:
		text += fmt.Sprintf("\nthe knee is at %.1f requests/s: less than 1 %% failures and a p99 of at most %v, confirmed\n", k.Rate, limit)
	}
	_, err := io.WriteString(w, text)
	return err
}

// Text formats p as a line under StepTitle.
func (p *Probe) Text() string {
	line := p.Report.StepText()
	switch {
	case p.Rate == 0:
		return line + " (closed loop)"
	case !p.Good:
		return line + " (too high: " + p.Why + ")"
	case p.Confirm:
		return line + " (confirmed)"
	}
	return line
}
