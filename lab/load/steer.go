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

// progressEvery is how often a steered run tells its progress during the warm-up.
const progressEvery = 50 * time.Millisecond

// event is a line that a steered load writes.
type event struct {
	Event string `json:"event"`
	AtNS  int64  `json:"at_ns,omitzero"` // CLOCK_MONOTONIC
	// progress: whole messages, those of short connections included
	Sent   int64 `json:"sent,omitzero"`
	Report any   `json:"report,omitempty"`
}

// Steer runs the load of c under orders of a program: see Conduct.
func Steer(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	return Conduct(ctx, in, out, func(ctx context.Context, ev Events) (any, error) { return Run(ctx, c, ev) })
}

// Conduct runs a load under orders of a program. run offers it as Run does, with the given events
// and commands, and returns what its report is. Conduct writes events to out, one JSON object a
// line:
//
//	{"event":"connected","at_ns":N}   every connection is open
//	{"event":"sending","at_ns":N}     the first message is due at N; the load now warms up
//	{"event":"progress","sent":N}     twenty times a second during the warm-up: whole messages so far
//	{"event":"measuring","at_ns":N}   the window began at N: statistics started from zero
//	{"event":"measured","at_ns":N}    the window ended at N; nothing is sent any more, the connections stay open
//	{"event":"report","report":{…}}   the Report, always the last line
//
// and takes commands from in, one a line: "measure DURATION" (2s, 500ms) begins the window, once;
// "stop" ends the run, a window under way is cut short. The end of in is a stop, but lets a window
// end. Anything else is an error. One goroutine reads in until it ends or a write to it is no
// longer awaited: a caller that goes on afterwards closes in.
func Conduct(ctx context.Context, in io.Reader, out io.Writer, run func(context.Context, Events) (report any, err error)) error {
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
	report, err := run(ctx, Events{
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

// readCommands passes on commands until in ends, a command is wrong or ctx is done.
func readCommands(ctx context.Context, in io.Reader, commands chan<- Command) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		cmd, err := parseCommand(lines.Text())
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

// parseCommand reads one line of a steering program.
func parseCommand(line string) (Command, error) {
	word, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "stop" && argument == "":
		return Command{}, nil
	case word == "measure":
		d, err := time.ParseDuration(argument)
		if err != nil || d < MinDuration || d > MaxDuration {
			return Command{}, usage{fmt.Sprintf("can't measure for %q: give a duration from %v to %v, as in measure 2s", argument, MinDuration, MaxDuration)}
		}
		return Command{Measure: d}, nil
	}
	return Command{}, usage{fmt.Sprintf("the steering command %q is unknown: say measure DURATION or stop", line)}
}
