package load

import (
	"fmt"
	"strings"
	"time"

	"weir/lab/result"
)

// Criterion is what a server must keep to keep up with a rate: a percentile of the latency below a
// limit.
type Criterion struct {
	Percentile string // p50, p99, p99.9 or max
	Limit      time.Duration
}

// percentiles returns the latency in microseconds, by the name of its percentile.
var percentiles = map[string]func(result.Percentiles) float64{
	"p50":   func(p result.Percentiles) float64 { return p.P50 },
	"p99":   func(p result.Percentiles) float64 { return p.P99 },
	"p99.9": func(p result.Percentiles) float64 { return p.P999 },
	"max":   func(p result.Percentiles) float64 { return p.Max },
}

// ParseCriterion parses a text such as "p99 < 10ms". The error Is ErrUsage.
func ParseCriterion(text string) (Criterion, error) {
	name, limit, found := strings.Cut(text, "<")
	d, err := time.ParseDuration(strings.TrimSpace(limit))
	c := Criterion{strings.TrimSpace(name), d}
	if !found || err != nil || c.check() != nil {
		return Criterion{}, UsageError(fmt.Sprintf("the criterion %q is invalid: write a percentile (p50, p99, p99.9 or max) and a limit up to %v, as in \"p99 < 10ms\"", text, maxTimeout))
	}
	return c, nil
}

func (c Criterion) check() error {
	if percentiles[c.Percentile] == nil || c.Limit <= 0 || c.Limit > maxTimeout {
		return UsageError(fmt.Sprintf("a limit of %v is out of range: give more than 0 and at most %v", c.Limit, maxTimeout))
	}
	return nil
}

func (c Criterion) String() string { return fmt.Sprintf("%s < %v", c.Percentile, c.Limit) }

const (
	maxFailed = 0.01 // largest share of failed messages below the knee
	// largest share of the messages in the backlog at the end of a window
	maxBacklog = 0.02
	// the verdict on a probe whose schedule the generator did not keep
	generatorLate = "this generator was late itself"
)

// Verdict returns why the server did not keep up with the rate in r; empty if it did. In a closed
// loop, which has the rate 0, it judges only failures.
func (c Criterion) Verdict(rate float64, r *Report) string {
	most := float64(c.Limit) / 1e3
	value := percentiles[c.Percentile](r.LatencyUS)
	switch {
	case rate > 0 && percentiles[c.Percentile](r.LatenessUS) > most/2:
		return generatorLate
	case float64(r.Failed) > maxFailed*float64(r.Offered):
		return fmt.Sprintf("%.2f %% of the messages failed", 100*Ratio(r.Failed, r.Offered))
	case rate > 0 && value >= most:
		return c.Percentile + " " + usText(value)
	case rate > 0 && c.fellBehind(r):
		return fmt.Sprintf("it fell behind: %.1f/s of %.1f/s", r.MessageRate, r.OfferedRate)
	case r.Messages == 0:
		return "nothing was answered"
	}
	return ""
}

// fellBehind reports whether more messages were under way at the end of the window than a latency
// of the limit explains (Little's law).
func (c Criterion) fellBehind(r *Report) bool {
	return float64(r.Offered-r.Messages-r.Failed) > maxBacklog*float64(r.Offered)+r.OfferedRate*c.Limit.Seconds()
}
