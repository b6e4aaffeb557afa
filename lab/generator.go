package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"weir/internal/tail"
	"weir/lab/load"
	"weir/lab/sample"
	"weir/lab/workload"
)

// generator is a running load generator. It is a separate process so that its CPU is accounted for
// separately. It speaks the steering protocol of weir load stream, http, chat and stack: commands
// on its standard input, events as lines of JSON on its standard output. One goroutine owns it. A
// second goroutine, which ends when the process exits, reads its events.
type generator struct {
	group *sample.Group
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// reader -> owner; 64 are more than a generator sends in a second of warm-up; closed by the
	// reader
	events chan generatorEvent
	stderr *tail.Buffer
	quit   chan struct{} // closed by the owner, which receives no events from then on
	onTick func()        // called by the owner periodically while it waits
}

// tickInterval is how often progress is reported during a trial.
const tickInterval = 250 * time.Millisecond

// allLost is the generator's last error when the server has closed every connection.
const allLost = "every connection was lost before the end"

type generatorEvent struct {
	Event  string          `json:"event"`
	AtNS   int64           `json:"at_ns"` // CLOCK_MONOTONIC
	Sent   int64           `json:"sent"`
	Report json.RawMessage `json:"report"`
}

// startGenerator starts argv, which starts with the command of weir load and ends with its flags.
func startGenerator(argv []string, place sample.Placement) (*generator, error) {
	group, err := sample.NewGroup("load")
	if err != nil {
		return nil, err
	}
	g := &generator{group: group, cmd: exec.Command(argv[0], argv[1:]...), stderr: tail.New(4096),
		events: make(chan generatorEvent, 64), quit: make(chan struct{}), onTick: func() {}}
	g.cmd.Stderr = g.stderr
	// Ctrl-C is handled by the lab, which stops the generator
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := g.cmd.StdoutPipe()
	if err == nil {
		g.stdin, err = g.cmd.StdinPipe()
	}
	if err == nil {
		err = group.Start(g.cmd, place)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lab: cannot start the load generator: %w", err), group.Close())
	}
	go g.read(stdout)
	return g, nil
}

func (g *generator) read(stdout io.Reader) {
	defer close(g.events)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for lines.Scan() {
		var ev generatorEvent
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			continue
		}
		select {
		case g.events <- ev:
		case <-g.quit:
			return
		}
	}
}

// eachEvent passes the generator's events to f until f returns enough or an error. It fails when no
// event arrives for the duration of limit.
func (g *generator) eachEvent(ctx context.Context, limit time.Duration, f func(generatorEvent) (enough bool, err error)) error {
	timeout, pulse := time.NewTimer(limit), time.NewTicker(tickInterval)
	defer timeout.Stop()
	defer pulse.Stop()
	for {
		select {
		case ev, ok := <-g.events:
			if !ok {
				return workload.ContextError(ctx, g.exitError())
			}
			timeout.Reset(limit)
			if enough, err := f(ev); enough || err != nil {
				return err
			}
		case <-pulse.C:
			g.onTick()
		case <-timeout.C:
			return fmt.Errorf("lab: the load generator sent no event for %v", limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitEvent returns the next event of the given kind and drops others.
func (g *generator) awaitEvent(ctx context.Context, kind string, limit time.Duration) (found generatorEvent, err error) {
	err = g.eachEvent(ctx, limit, func(ev generatorEvent) (bool, error) {
		found = ev
		return ev.Event == kind, nil
	})
	return found, err
}

// exitError returns why the generator's events ended early.
func (g *generator) exitError() error {
	err := g.cmd.Wait()
	why := strings.TrimPrefix(g.stderr.LastLine(), "weir: ")
	switch {
	case strings.Contains(why, allLost):
		return failure(strings.TrimPrefix(why, "load: "))
	case strings.HasPrefix(why, load.ServerFailed):
		return failure(strings.TrimPrefix(why, load.ServerFailed))
	case why != "":
		return fmt.Errorf("lab: the load generator failed: %s", why)
	}
	return fmt.Errorf("lab: the load generator ended early: %v", err)
}

// sendCommand writes a command to the generator's standard input.
func (g *generator) sendCommand(command string) error {
	if _, err := io.WriteString(g.stdin, command+"\n"); err != nil {
		return g.exitError()
	}
	return nil
}

// report returns the generator's final report: the figures of all loads, and the whole.
func (g *generator) report(ctx context.Context) (r load.Report, text json.RawMessage, err error) {
	ev, err := g.awaitEvent(ctx, "report", 30*time.Second)
	if err == nil {
		err = json.Unmarshal(ev.Report, &r)
	}
	return r, ev.Report, err
}

// withErrors adds to a failure of the subject in the warm-up which errors the generator found, and
// an example. It ends the load if err is such a failure, and returns any other error as it is.
func (g *generator) withErrors(ctx context.Context, err error) error {
	why, failed := errors.AsType[failure](err)
	if !failed || g.sendCommand("stop") != nil {
		return err
	}
	r, _, wrong := g.report(ctx)
	if wrong != nil || len(r.Errors) == 0 {
		return err
	}
	example := ""
	if len(r.Details) > 0 {
		example = ", for example " + r.Details[0]
	}
	return failure(fmt.Sprintf("%s; the load generator found %s%s", why, r.Trouble(), example))
}

// close stops the generator in any state and removes its group. It stops receiving events, kills
// the processes that are left, and waits for them.
func (g *generator) close() error {
	close(g.quit)
	g.stdin.Close()
	err := g.group.Close()
	g.cmd.Wait() //nolint:errcheck // killed, or reported by died
	return err
}
