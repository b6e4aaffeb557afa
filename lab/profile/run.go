package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/lab"
	"weir/lab/profile/sampler"
	"weir/lab/profile/symbol"
	"weir/lab/workload"
)

// Limits and defaults of a Config.
const (
	DefaultFrequency = 4000
	MaxFrequency     = 20_000
	MinRounds        = 2
	MaxRounds        = 50
	// SampledTime is how long each subject is sampled in all rounds if a Config has no Rounds
	SampledTime = 10 * time.Second
)

// Config describes a differential profile.
type Config struct {
	A, B      string // names of subjects of the run
	Frequency int    // samples per second of each core; 0: DefaultFrequency, at most MaxFrequency
	Rounds    int    // trials of each subject; 0: MinRounds, and as many as SampledTime needs
}

// Validate sets the defaults and reports the first invalid setting.
func (c *Config) Validate() error {
	if c.Frequency == 0 {
		c.Frequency = DefaultFrequency
	}
	switch {
	case c.A == c.B:
		return fmt.Errorf("profile: %s cannot be compared with itself: name two subjects, or give one of two subject.toml files another name", c.A)
	case c.Frequency < 10 || c.Frequency > MaxFrequency:
		return fmt.Errorf("profile: the frequency %d is out of range: give 10 to %d samples per second", c.Frequency, MaxFrequency)
	case c.Rounds < 0 || c.Rounds > MaxRounds:
		return fmt.Errorf("profile: %d rounds are out of range: give 1 to %d", c.Rounds, MaxRounds)
	}
	return nil
}

// Check returns why Run would fail on this machine; nil if it would not. A run that is to be
// explained calls it before its trials.
func Check() error {
	if err := sampler.Check(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

// wants reports whether another round is due after so many, with so much time sampled.
func (c *Config) wants(rounds int, sampled time.Duration) bool {
	if c.Rounds > 0 {
		return rounds < c.Rounds
	}
	return rounds < MinRounds || sampled < SampledTime && rounds < MaxRounds
}

// period returns the time between two samples. It is a little longer than that of the frequency, so
// that it shares no divisor with the period of a load, and meets all parts of that alike.
func (c *Config) period() time.Duration {
	return time.Second*1003/1000/time.Duration(c.Frequency) + 9*time.Nanosecond
}

// Run profiles two subjects of a run in trials of their own, under the first load that both have,
// with its most connections. It is called on the goroutine of the Runner, also after its Run. An
// error means that there is no profile: a subject failed to start, or cannot be sampled.
func Run(ctx context.Context, r *lab.Runner, c Config) (*Difference, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	cell, ok := r.CommonCell(c.A, c.B)
	if !ok {
		return nil, fmt.Errorf("profile: no load of the run has both %s and %s: name two subjects that take part in it", c.A, c.B)
	}
	kernel, kernelErr := symbol.ReadKernel()
	a, b := &Profile{Subject: c.A, Period: c.period()}, &Profile{Subject: c.B, Period: c.period()}
	for round := 0; c.wants(round, a.window); round++ {
		order := []*Profile{a, b}
		if round%2 == 1 { // a slow drift of the machine hits both alike
			order = []*Profile{b, a}
		}
		for _, p := range order {
			t := trial{profile: p, kernel: kernel}
			if err := t.run(ctx, r, cell); err != nil {
				return nil, err
			}
		}
	}
	d := Compare(loadInWords(cell), a, b)
	if kernelErr != nil {
		d.Notes = append(d.Notes, kernelErr.Error())
	}
	return d, nil
}

func loadInWords(c workload.Cell) string {
	return fmt.Sprintf("%s, %d connections, %s", c.Load, c.Connections, c.Pattern)
}

// trial is one trial of a subject, observed.
type trial struct {
	profile *Profile
	kernel  *symbol.Table

	start   time.Duration // CLOCK_MONOTONIC, of the measured window
	samples []observed
}

// run runs the trial, and adds its samples to the profile.
func (t *trial) run(ctx context.Context, r *lab.Runner, cell workload.Cell) error {
	p := t.profile
	done, err := r.ObserveTrial(ctx, lab.Place{Cell: cell, Subject: p.Subject}, prepare, t.observe)
	faults := slices.Concat(done.FailedBecause, done.RejectedBecause)
	if err == nil && done.Messages == 0 {
		err = fmt.Errorf("profile: %s: %s", p.Subject, strings.Join(append(faults, "nothing was measured"), "; "))
	}
	if err != nil {
		return err
	}
	p.trials++
	if len(faults) > 0 {
		p.faults = append(p.faults, faults[0])
	}
	p.add(t.samples, window{t.start, time.Duration(done.WindowS * float64(time.Second)), done.Messages, done.Samples})
	return nil
}

// observe samples the subject during the measured window. Names are found right after it, while the
// subject's processes live.
func (t *trial) observe(s *workload.Running) (after func(start time.Duration) error, err error) {
	p := t.profile
	if s.Group == nil {
		return nil, fmt.Errorf("profile: %s was not started by the lab, so it cannot be sampled: name a subject", p.Subject)
	}
	watch, err := sampler.Start(s.Group, p.Period)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func(start time.Duration) error {
		seen, err := watch.Stop()
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		names := newResolver(t.kernel)
		t.start, t.samples = start, names.name(seen)
		for _, note := range names.notes() {
			p.note(note)
		}
		if seen.Lost > 0 {
			p.note(fmt.Sprintf("%d samples of a trial were lost, because a buffer was full", seen.Lost))
		}
		return nil
	}, nil
}
