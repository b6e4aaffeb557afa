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
	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/sample"
	"weir/lab/workload"
)

// generator is a running load generator. One goroutine owns it.
type generator struct {
	source
	// its processes on this machine
	groups []*sample.Group
	events <-chan agent.Event
	onTick func() // called by the owner periodically while it waits
}

// source is where a load comes from: a process on this machine, or agents. It speaks the steering
// protocol of weir load: see load.Conduct.
type source interface {
	send(command string) error
	// ended returns why the events ended early.
	ended() error
	// silent returns the error of a load without an event for so long.
	silent(limit time.Duration) error
	// close ends the load in any state.
	close() error
}

// loadProcess is a load generator on this machine. It is a separate process so that its CPU is
// accounted for separately. It reads commands on its standard input, and writes events as lines of
// JSON. A goroutine, which ends when the process exits, reads these.
type loadProcess struct {
	group *sample.Group
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// reader -> owner; 64 are more than a generator sends in a second of warm-up; closed by the
	// reader
	events chan agent.Event
	stderr *tail.Buffer
	quit   chan struct{} // closed by the owner, which receives no events from then on
}

// tickInterval is how often progress is reported during a trial.
const tickInterval = 250 * time.Millisecond

// allLost is the generator's last error when the server has closed every connection.
const allLost = "every connection was lost before the end"

// startGenerator starts argv, which starts with the command of weir load and ends with its flags.
func startGenerator(argv []string, place sample.Placement) (*generator, error) {
	group, err := sample.NewGroup("load")
	if err != nil {
		return nil, err
	}
	p := &loadProcess{group: group, cmd: exec.Command(argv[0], argv[1:]...), stderr: tail.New(4096),
		events: make(chan agent.Event, 64), quit: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	// Ctrl-C is handled by the lab, which stops the generator
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = group.Start(p.cmd, place)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lab: cannot start the load generator: %w", err), group.Close())
	}
	go p.read(stdout)
	return &generator{source: p, groups: []*sample.Group{group}, events: p.events, onTick: func() {}}, nil
}

func (p *loadProcess) read(stdout io.Reader) {
	defer close(p.events)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for lines.Scan() {
		var ev agent.Event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			continue
		}
		select {
		case p.events <- ev:
		case <-p.quit:
			return
		}
	}
}

// ended implements source.
func (p *loadProcess) ended() error {
	err := p.cmd.Wait()
	if why := strings.TrimPrefix(p.stderr.LastLine(), "weir: "); why != "" {
		return loadError(why)
	}
	return fmt.Errorf("lab: the load generator ended early: %v", err)
}

// loadError returns the error of a load whose generator ended with this line.
func loadError(why string) error {
	switch {
	case strings.Contains(why, allLost):
		return failure(strings.TrimPrefix(why, "load: "))
	case strings.HasPrefix(why, load.ServerFailed):
		return failure(strings.TrimPrefix(why, load.ServerFailed))
	case strings.HasPrefix(why, load.CannotConnect):
		return generatorError("lab: " + strings.TrimPrefix(why, "load: "))
	}
	return generatorError("lab: the load generator failed: " + why)
}

// generatorError is an error of a load generator, which does not know the name of the subject.
type generatorError string

func (e generatorError) Error() string { return string(e) }

// withSubject adds the subject of a trial to an error that does not name it.
func withSubject(err error, subject string) error {
	if unnamed, ok := errors.AsType[generatorError](err); ok {
		return fmt.Errorf("%w (the subject is %s)", unnamed, subject)
	}
	return err
}

// silent implements source.
func (p *loadProcess) silent(limit time.Duration) error {
	return fmt.Errorf("lab: the load generator sent no event for %v", limit)
}

// send implements source. It writes a command to the generator's standard input.
func (p *loadProcess) send(command string) error {
	if _, err := io.WriteString(p.stdin, command+"\n"); err != nil {
		return p.ended()
	}
	return nil
}

// close implements source. It stops receiving events, kills the processes that are left, and waits
// for them.
func (p *loadProcess) close() error {
	close(p.quit)
	p.stdin.Close()
	err := p.group.Close()
	p.cmd.Wait() //nolint:errcheck // killed, or reported by ended
	return err
}

// CPU returns what the generator used so far on this machine.
func (g *generator) CPU() (sum time.Duration, err error) {
	for _, group := range g.groups {
		cpu, failed := group.CPU()
		sum, err = sum+cpu, errors.Join(err, failed)
	}
	return sum, err
}

// eachEvent passes the generator's events to f until f returns enough or an error. It fails when no
// event arrives for the duration of limit.
func (g *generator) eachEvent(ctx context.Context, limit time.Duration, f func(agent.Event) (enough bool, err error)) error {
	timeout, pulse := time.NewTimer(limit), time.NewTicker(tickInterval)
	defer timeout.Stop()
	defer pulse.Stop()
	for {
		select {
		case ev, ok := <-g.events:
			if !ok {
				return workload.ContextError(ctx, g.ended())
			}
			timeout.Reset(limit)
			if enough, err := f(ev); enough || err != nil {
				return err
			}
		case <-pulse.C:
			g.onTick()
		case <-timeout.C:
			return g.silent(limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitEvent returns the next event of the given kind and drops others.
func (g *generator) awaitEvent(ctx context.Context, kind string, limit time.Duration) (found agent.Event, err error) {
	err = g.eachEvent(ctx, limit, func(ev agent.Event) (bool, error) {
		found = ev
		return ev.Event == kind, nil
	})
	return found, err
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
	if !failed || g.send("stop") != nil {
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
