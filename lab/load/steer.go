package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// progressEvery is the interval of progress events during the warm-up.
const progressEvery = 50 * time.Millisecond

// event is one line of a steered load's output.
type event struct {
	Event string `json:"event"`
	AtNS  int64  `json:"at_ns,omitzero"` // CLOCK_MONOTONIC
	// progress: complete messages, including those of short connections
	Sent   int64 `json:"sent,omitzero"`
	Report any   `json:"report,omitempty"`
}

// Conduct runs a load under the control of another program. The function run is a generator's Run,
// and c its configuration. Conduct writes events to out, one JSON object per line:
//
//	{"event":"connected","at_ns":N}   every connection is open
//	{"event":"sending","at_ns":N}     the first message is due at N; the load now warms up
//	{"event":"progress","sent":N}     20 times a second during the warm-up: complete messages
//	{"event":"measuring","at_ns":N}   the window began at N: statistics started from zero
//	{"event":"measured","at_ns":N}    the window ended at N; sending stops, connections stay open
//	{"event":"report","report":{…}}   the Report, always the last line
//
// and reads commands from in, one per line: "measure DURATION" (2s, 500ms) starts the window, once;
// "stop" ends the run and cuts a window short. The end of in stops the run too, but only after a
// started window. Anything else is an error. One goroutine reads in until it ends or the run does:
// a caller that continues afterwards must close in.
func Conduct[C, R any](ctx context.Context, in io.Reader, out io.Writer, c C, run func(context.Context, C, Events) (R, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// reading goroutine -> Run; unbuffered; closed by the reading goroutine
	commands := make(chan Command)
	go func() {
		defer close(commands)
		if err := readCommands(ctx, in, commands); err != nil {
			cancel(err)
		}
	}()
	lines := json.NewEncoder(out)
	var failed error
	tell := func(e event) { failed = errors.Join(failed, lines.Encode(e)) }
	at := func(name string) func(int64) { return func(at int64) { tell(event{Event: name, AtNS: at}) } }
	report, err := run(ctx, c, Events{
		Connected: at("connected"), Sending: at("sending"), Measuring: at("measuring"), Measured: at("measured"),
		Every: progressEvery, Commands: commands,
		Progress: func(p Progress) {
			if !p.Measuring {
				tell(event{Event: "progress", Sent: p.Sent})
			}
		}})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	tell(event{Event: "report", Report: report})
	return failed
}

// readCommands forwards commands until in ends, a command is invalid or ctx ends.
func readCommands(ctx context.Context, in io.Reader, commands chan<- Command) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		cmd, err := ParseCommand(lines.Text())
		if err != nil {
			return err
		}
		select {
		case commands <- cmd:
		case <-ctx.Done():
			return nil
		}
	}
	return lines.Err()
}

// ParseCommand parses one line of commands, as Conduct reads it. Its errors are ErrUsage.
func ParseCommand(line string) (Command, error) {
	word, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "stop" && argument == "":
		return Command{}, nil
	case word == "measure":
		d, err := time.ParseDuration(argument)
		if err != nil || d < MinDuration || d > MaxDuration {
			return Command{}, UsageError(fmt.Sprintf("cannot measure for %q: give a duration from %v to %v, as in measure 2s", argument, MinDuration, MaxDuration))
		}
		return Command{Measure: d}, nil
	}
	return Command{}, UsageError(fmt.Sprintf("the steering command %q is unknown: write measure DURATION or stop", line))
}
