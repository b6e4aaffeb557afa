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
	"weir/lab/result"
	"weir/lab/sample"
)

// generator is a running load, in a process of its own so that its CPU can be told from everybody
// else's. It speaks the steering protocol of weir load stream, http and chat: commands on its
// standard input, events on its standard output. One goroutine owns it; a second, ended by the
// process's exit, reads its events.
type generator struct {
	group *sample.Group
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// reader -> owner; 64 are more than a generator sends in a warm-up's second; closed by the
	// reader
	events chan generatorEvent
	stderr *tail.Buffer
	quit   chan struct{} // closed by the owner: nobody receives events any more
	pulse  func()        // called by the owner while it waits
}

// pulseEvery is how often somebody who watches a trial sees something new.
const pulseEvery = 250 * time.Millisecond

// allLost is what the generator says last when the server has ended every connection.
const allLost = "every connection was lost before the end"

type generatorEvent struct {
	Event  string          `json:"event"`
	AtNS   int64           `json:"at_ns"` // CLOCK_MONOTONIC
	Sent   int64           `json:"sent"`
	Report json.RawMessage `json:"report"`
}

// startGenerator starts argv, which begins with the command of weir load and ends with its flags.
func startGenerator(argv []string, place sample.Placement) (*generator, error) {
	group, err := sample.NewGroup("load")
	if err != nil {
		return nil, err
	}
	g := &generator{group: group, cmd: exec.Command(argv[0], argv[1:]...), stderr: tail.New(4096),
		events: make(chan generatorEvent, 64), quit: make(chan struct{}), pulse: func() {}}
	g.cmd.Stderr = g.stderr
	// a Ctrl-C is for the lab, which ends the generator
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

// each passes the generator's events to f until f has seen what it waits for, or fails. The limit
// is on the time in which the generator says nothing.
func (g *generator) each(ctx context.Context, limit time.Duration, f func(generatorEvent) (enough bool, err error)) error {
	timeout, pulse := time.NewTimer(limit), time.NewTicker(pulseEvery)
	defer timeout.Stop()
	defer pulse.Stop()
	for {
		select {
		case ev, ok := <-g.events:
			if !ok {
				return interrupted(ctx, g.died())
			}
			timeout.Reset(limit)
			if enough, err := f(ev); enough || err != nil {
				return err
			}
		case <-pulse.C:
			g.pulse()
		case <-timeout.C:
			return fmt.Errorf("lab: the load generator was silent about what it does for %v", limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// await returns the next event of the given kind and drops others.
func (g *generator) await(ctx context.Context, kind string, limit time.Duration) (found generatorEvent, err error) {
	err = g.each(ctx, limit, func(ev generatorEvent) (bool, error) {
		found = ev
		return ev.Event == kind, nil
	})
	return found, err
}

// died says why the generator's events ended early.
func (g *generator) died() error {
	err := g.cmd.Wait()
	why := strings.TrimPrefix(g.stderr.LastLine(), "weir: ")
	switch {
	case strings.Contains(why, allLost):
		return failure(strings.TrimPrefix(why, "load: "))
	case strings.HasPrefix(why, load.ServerFailed):
		return failure(strings.TrimPrefix(why, load.ServerFailed))
	case why != "":
		return fmt.Errorf("lab: the load generator gave up: %s", why)
	}
	return fmt.Errorf("lab: the load generator ended early: %v", err)
}

// say sends a command.
func (g *generator) say(command string) error {
	if _, err := io.WriteString(g.stdin, command+"\n"); err != nil {
		return g.died()
	}
	return nil
}

// loadReport is what either load says at its end.
type loadReport struct {
	load.Report
	Answered  int64 `json:"answered"` // requests: of those offered, whole and right
	Failed    int64 `json:"failed"`
	BodyBytes int64 `json:"body_bytes"`

	// rooms: from asking for a history to its last message
	ReplayUS result.Percentiles `json:"replay_us"`

	// Stacks.

	Operation     string  `json:"operation"`
	Congestion    string  `json:"congestion"` // control of the peer's sockets
	MeanUS        float64 `json:"mean_us"`
	GbitS         float64 `json:"gbit_s"`
	Lost          int64   `json:"lost"`
	SegmentsOut   int64   `json:"segments_out"`
	SegmentsIn    int64   `json:"segments_in"`
	Retransmitted int64   `json:"retransmitted"`
}

// report is the generator's last word.
func (g *generator) report(ctx context.Context) (loadReport, error) {
	var r loadReport
	ev, err := g.await(ctx, "report", 30*time.Second)
	if err == nil {
		err = json.Unmarshal(ev.Report, &r)
	}
	return r, err
}

// close ends the generator, whatever it is doing, and removes its group. The order: tell it that
// nobody listens, kill what is left, collect it.
func (g *generator) close() error {
	close(g.quit)
	g.stdin.Close()
	err := g.group.Close()
	g.cmd.Wait() //nolint:errcheck // killed, or reported by died
	return err
}
