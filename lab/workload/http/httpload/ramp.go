package httpload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/lab/load"
)

// maxSteps is the largest number of steps of a ramp.
const maxSteps = 1000

// Ramp is a series of constant rates, each offered for Config.Duration.
type Ramp struct {
	// requests per second (without keep-alive connections per second); Step must be over 0
	From, To, Step float64
	CoolDown       time.Duration // pause between two steps
}

// ParseRamp parses FROM:TO:STEP.
func ParseRamp(text string) (Ramp, error) {
	var r Ramp
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return r, badRamp(text)
	}
	for i, number := range []*float64{&r.From, &r.To, &r.Step} {
		var err error
		if *number, err = strconv.ParseFloat(parts[i], 64); err != nil {
			return r, badRamp(text)
		}
	}
	if !(r.From >= 1e-3 && r.To >= r.From && r.To <= MaxRate && r.Step > 0 && (r.To-r.From)/r.Step < maxSteps) {
		return r, badRamp(text)
	}
	return r, nil
}

func badRamp(text string) error {
	return load.UsageError(fmt.Sprintf("the ramp %q is invalid: give FROM:TO:STEP in requests per second, such as 1000:10000:1000, with at most %d steps", text, maxSteps))
}

// Rates returns the rates of the steps. The last is To if a whole number of steps leads to it.
func (r Ramp) Rates() (rates []float64) {
	for i := 0; ; i++ {
		rate := r.From + float64(i)*r.Step
		if rate > r.To*(1+1e-9) {
			return rates
		}
		rates = append(rates, rate)
	}
}

// RunRamp offers the steps of a ramp in order, and ends early if a step has Config.MaxErrors
// errors. The rate of c is ignored. step, which may be nil, is called after each step.
func RunRamp(ctx context.Context, c Config, ramp Ramp, ev load.Events, step func(Report)) (steps []Report, err error) {
	for i, rate := range ramp.Rates() {
		if i > 0 {
			if err := pause(ctx, ramp.CoolDown); err != nil {
				return steps, err
			}
		}
		c.Rate = rate
		r, err := Run(ctx, c, ev)
		if err != nil {
			return steps, err
		}
		steps = append(steps, r)
		if step != nil {
			step(r)
		}
		if r.Stopped != "" {
			break
		}
	}
	return steps, nil
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
