package httpload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/lab/load"
)

// maxSteps is the largest number of steps of a ramp, a series of constant rates.
const maxSteps = 1000

// ParseRamp parses FROM:TO:STEP, in requests per second (without keep-alive connections per
// second), and returns the rates of the steps. The last is TO if a whole number of steps leads to
// it.
func ParseRamp(text string) (rates []float64, err error) {
	var from, to, step float64
	parts := strings.Split(text, ":")
	numbers := []*float64{&from, &to, &step}
	for i, part := range parts[:min(len(parts), len(numbers))] {
		var wrong error
		*numbers[i], wrong = strconv.ParseFloat(part, 64)
		err = errors.Join(err, wrong)
	}
	if err != nil || len(parts) != len(numbers) || !(from >= load.MinRate && to >= from && to <= MaxRate && step > 0 && (to-from)/step < maxSteps) {
		return nil, load.UsageError(fmt.Sprintf("the ramp %q is invalid: give FROM:TO:STEP in requests per second, such as 1000:10000:1000, with at most %d steps", text, maxSteps))
	}
	for i := range maxSteps {
		if rate := from + float64(i)*step; rate <= to*(1+1e-9) {
			rates = append(rates, rate)
		}
	}
	return rates, nil
}

// RunRamp offers constant rates in order, each for Config.Duration, with a pause between two, and
// ends early if a step has Config.MaxErrors errors. The rate of c is ignored. step, which may be
// nil, is called after each step.
func RunRamp(ctx context.Context, c Config, rates []float64, pause time.Duration, ev load.Events, step func(Report)) (steps []Report, err error) {
	for i, rate := range rates {
		if i > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return steps, ctx.Err()
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
