package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"weir/lab/load"
)

type loadCmd struct {
	Stream streamCmd    `cmd:"" help:"Send messages at a constant rate on many connections; example: weir load stream -c 64 --rate-per-connection 125 127.0.0.1:7000"`
	HTTP   httpCmd      `cmd:"" name:"http" help:"Send requests to a web server; example: weir load http -c 64 --rate 5000 http://127.0.0.1:8080/"`
	GRPC   grpcCmd      `cmd:"" name:"grpc" help:"Call a method of a gRPC server; example: weir load grpc -c 8 --streams 8 --rate 5000 --message 0a05776f726c64 http://127.0.0.1:50051/helloworld.Greeter/SayHello"`
	WS     wsCmd        `cmd:"" name:"ws" help:"Send messages to a WebSocket server; example: weir load ws -c 64 --rate 5000 ws://127.0.0.1:8080/echo"`
	Stack  stackLoadCmd `cmd:"" help:"Send pings, connections and bulk data to a TCP/IP stack; example: weir load stack rr 10.77.0.2"`
	Chat   chatLoadCmd  `cmd:"" help:"Send messages to the rooms of an IRC server; example: weir load chat -c 64 --rate 500 127.0.0.1:6667"`
}

// loadFlags are the flags that all loads have.
type loadFlags struct {
	Duration   *time.Duration `placeholder:"10s" help:"How long to measure; of a search each probe (2s there)."`
	Knee       kneeFlag       `placeholder:"\"p99 < 10ms\"" help:"Search for the highest rate with under 1 % failures and this latency (p50, p99, p99.9 or max), counted from the intended send times."`
	Histograms bool           `help:"Add the distributions of times to the report as histograms, so that reports can be merged."`
	CPUs       []int          `name:"cpus" placeholder:"N,..." help:"Run on these CPUs only."`
	JSON       bool           `name:"json" help:"Write the report as JSON."`
	Steer      bool           `help:"Write events as JSON lines and read commands from standard input, as the lab uses it."`
}

// length returns how long to measure.
func (f *loadFlags) length() time.Duration {
	switch {
	case f.Duration != nil:
		return *f.Duration
	case f.Knee.given:
		return 2 * time.Second
	}
	return 10 * time.Second
}

// defaultLimit is that of the p99 latency for --knee alone.
const defaultLimit = 100 * time.Millisecond

// kneeFlag is --knee, with a criterion or without one.
type kneeFlag struct {
	given     bool
	criterion string // empty: not given
}

// Decode implements kong.MapperValue.
func (k *kneeFlag) Decode(c *kong.DecodeContext) error {
	k.given = true
	if next := c.Scan.Peek(); next.Type == kong.FlagValueToken || strings.Contains(next.String(), "<") {
		k.criterion = c.Scan.Pop().String()
	}
	return nil
}

// IsBool reports whether the flag can stand alone: it can. It implements kong.BoolMapperValue.
func (kneeFlag) IsBool() bool { return true }

// reportOf is a pointer to a load's report.
type reportOf[R any] interface {
	*R
	load.Reported
}

// sender sends a load of one kind, as its flags ask for.
type sender[C, R any, P reportOf[R]] struct {
	loadFlags
	unit string // what is counted while it runs
	run  func(context.Context, C, load.Events) (R, error)
	// for --knee: the configuration with another rate in total; 0: a closed loop
	atRate           func(c C, rate float64) C
	minRate, maxRate float64
	from             float64 // the rate at which the search starts; 0: that of a closed loop
	limit            time.Duration
}

// send runs the load, or searches for its knee, and writes the report. The report of a search is
// empty.
func (s *sender[C, R, P]) send(ctx context.Context, t *terminal, c C) (R, error) {
	var none R
	switch {
	case s.Steer && s.Knee.given:
		return none, usageError{errors.New("load: only one run can be steered: leave --knee out")}
	case s.Steer:
		return none, asUsage(load.Conduct(ctx, os.Stdin, t.out, c, s.run))
	case s.Knee.given:
		return none, asUsage(s.searchKnee(ctx, t, c))
	}
	report, err := s.run(ctx, c, watch(t, s.unit))
	clearLive(t)
	base := P(&report).Base()
	if base.WindowNS > 0 {
		err = errors.Join(err, s.write(t, P(&report)))
	}
	if err == nil && len(base.Errors) > 0 {
		err = fmt.Errorf("load: the run had errors: %s", base.Trouble())
	}
	return report, asUsage(err)
}

// searchKnee searches for the highest rate that keeps the criterion.
func (s *sender[C, R, P]) searchKnee(ctx context.Context, t *terminal, c C) error {
	criterion := load.Criterion{Percentile: "p99", Limit: s.limit}
	if s.Knee.criterion != "" {
		var err error
		if criterion, err = load.ParseCriterion(s.Knee.criterion); err != nil {
			return err
		}
	}
	show := func(line string) {
		clearLive(t)
		if t.errTTY {
			fmt.Fprintln(t.err, line)
		}
	}
	show(load.StepTitle)
	knee, err := load.FindKnee(ctx, load.Search{Criterion: criterion, From: s.from, MinRate: s.minRate, MaxRate: s.maxRate, Probed: func(p load.Probe) { show(p.Text()) },
		Run: func(ctx context.Context, rate float64) (load.Reported, error) {
			r, err := s.run(ctx, s.atRate(c, rate), watch(t, s.unit))
			return P(&r), err
		}})
	clearLive(t)
	if len(knee.Probes) > 0 && err == nil {
		err = s.write(t, &knee)
	}
	if err == nil && !knee.Confirmed {
		err = errors.New("load: no knee was found")
	}
	return err
}

// write writes a report as JSON or text.
func (f *loadFlags) write(t *terminal, r interface{ WriteText(io.Writer) error }) error {
	if f.JSON {
		return t.json(r)
	}
	return r.WriteText(t.out)
}

// watch shows the state of a run on a terminal.
func watch(t *terminal, unit string) load.Events {
	if !t.errTTY {
		return load.Events{}
	}
	return load.Events{Every: time.Second / 4, Progress: func(p load.Progress) {
		fmt.Fprintf(t.err, "\r\x1b[K%5.1f s  %d %s  %d failed  %d connections  lateness %v",
			p.Elapsed.Seconds(), p.Sent, unit, p.Failed, p.Alive, p.Lateness.Round(time.Microsecond))
	}}
}

func clearLive(t *terminal) {
	if t.errTTY {
		fmt.Fprint(t.err, "\r\x1b[K")
	}
}

// asUsage makes an invalid setting of a load an error of the command line.
func asUsage(err error) error {
	if errors.Is(err, load.ErrUsage) {
		return usageError{err}
	}
	return err
}
