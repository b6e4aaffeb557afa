// Package stream is the workload of messages on TCP connections, which a sink reads and an echo
// server returns.
//
// # Limitations
//
// A sink shows only that it did not block: what it read is not known.
package stream

import (
	"context"
	"encoding/json"
	"strconv"

	"weir/lab/contract"
	"weir/lab/load"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stream/streamload"
)

// Workload is the workload sink, or echo.
type Workload struct{ Echo bool }

// Traits implements workload.Workload. The generator reads echoes in a thread of its own.
func (w Workload) Traits() workload.Traits {
	t := workload.Traits{Patterns: load.Patterns, GeneratorCores: 1, TestsPortability: true}
	if w.Echo {
		t.GeneratorCores, t.MaxRate, t.MaxKnee = 2, maxRate, maxRate
	}
	return t
}

// maxRate returns the highest rate that the generator offers.
func maxRate(connections int) float64 {
	return min(streamload.MaxTotalRate, streamload.MaxRate*float64(connections))
}

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload.
func (Workload) Contract() contract.Kind { return Contract }

// Open implements workload.Workload.
func (w Workload) Open(_ context.Context, s *workload.Site, _ []workload.Load) (workload.Session, error) {
	return session{workload.Servers{Site: s}, w.Echo}, nil
}

type session struct {
	workload.Servers
	echo bool
}

// Start implements workload.Session.
func (v session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	of := l.(*Load)
	return v.StartServer(ctx, s, subject.Params{Size: of.Size, WorkUS: of.WorkUS, WaitMS: of.WaitMS})
}

// Args implements workload.Session.
func (v session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	of := l.(*Load).config(c.Connections, c.Pattern, v.echo)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	args := []string{"stream", "--steer", "--connections", strconv.Itoa(of.Connections), "--size", strconv.Itoa(of.Size), "--pattern", of.Pattern,
		"--idle", strconv.Itoa(of.Idle), "--churn", number(of.Churn), "--seed", strconv.FormatUint(to.Seed, 10)}
	if of.Bits > 0 {
		args = append(args, "--bits", number(of.Bits))
	} else {
		args = append(args, "--rate-per-connection", number(of.Rate))
	}
	if of.Echo {
		args = append(args, "--echo")
	}
	return append(args, to.Addr)
}

// config returns the generator's settings for l. The caller sets the target.
func (l *Load) config(connections int, pattern string, echo bool) streamload.Config {
	c := streamload.Config{Connections: connections, Size: l.Size, Pattern: pattern, Echo: echo, Idle: l.Idle, Churn: l.Churn, Bits: l.Bits}
	if l.Bits == 0 {
		c.Rate = l.Rate
	}
	return c
}

// Fill implements workload.Session. It adds the short connections, each of which is one message.
func (session) Fill(t *result.Trial, _ workload.Load, m workload.Measured) error {
	var g streamload.Report
	err := json.Unmarshal(m.Report, &g)
	c := g.Churn
	if c == nil || err != nil {
		return err
	}
	t.Churn = &result.Churn{Offered: c.Offered, Done: c.Done, Behind: c.Behind, DurationUS: c.DurationUS}
	if t.Messages += c.Done; t.Messages > 0 {
		t.LoadUSPerMsg = float64(g.CPUNS) / 1000 / float64(t.Messages)
	}
	t.Bytes += c.Done * int64(g.Size)
	t.Behind += c.Behind
	if c.Offered > 0 {
		t.OfferedRate += float64(c.Offered) / t.WindowS
		t.AchievedRatio = (g.AchievedRatio*float64(g.Offered) + float64(c.Done)) / float64(g.Offered+c.Offered)
	}
	return nil
}

// Failures implements workload.Session.
func (session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	return workload.MessageFailures(t, ev)
}

// Rejections implements workload.Session.
func (session) Rejections(t *result.Trial, _ workload.Evidence, onTime bool) workload.Findings {
	return workload.LoadShort(t, onTime)
}
