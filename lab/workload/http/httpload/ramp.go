package httpload

import (
	"context"
	"fmt"
	"io"
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

// StepTitle is the heading of a table of steps.
const StepTitle = "  attempted/s  answered/s  failed %   p50 ms    p99 ms    max ms  late p99 ms  errors"

// StepText formats r as a line under StepTitle.
func (r *Report) StepText() string {
	failed := 100 * float64(r.Failed) / float64(max(1, r.Offered))
	return fmt.Sprintf("%13.1f %11.1f %9.2f %8.3f %9.3f %9.3f %12.3f  %s", r.OfferedRate, r.MessageRate, failed,
		r.LatencyUS.P50/1e3, r.LatencyUS.P99/1e3, r.LatencyUS.Max/1e3, r.LatenessUS.P99/1e3, r.Trouble())
}

// WriteSteps writes the table of a ramp.
func WriteSteps(w io.Writer, steps []Report) error {
	lines := []string{StepTitle}
	for i := range steps {
		lines = append(lines, strings.TrimRight(steps[i].StepText(), " "))
		if why := steps[i].Stopped; why != "" {
			lines = append(lines, "  stopped "+why)
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
