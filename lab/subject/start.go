package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/freeport"
	"weir/internal/tail"
	"weir/lab/sample"
)

// readyTimeout is how long a server may take to become ready: virtual machines on a busy machine
// take seconds.
const readyTimeout = 20 * time.Second

// ErrPortInUse is wrapped by the error of a Start at an address that another program uses. A chosen
// port is not reserved.
var ErrPortInUse = errors.New("in use by another program")

// Place configures where a subject runs and writes.
type Place struct {
	Stdout *os.File // nil: /dev/null; the caller closes it
	// NAME=value, overrides the subject's own; GODEBUG is appended to the present value
	Env          []string
	Sample       sample.Placement // cores and network namespace; only with a group
	ReadyTimeout time.Duration    // time limit for becoming ready; 0: 20 s
}

// Start runs the subject in the group (nil: without accounting) and returns when it is ready. The
// error says why it is not: an invalid parameter, its port in use, an early exit with the exit
// status and the last line, or the time limit. Nothing is left running then. ctx limits the wait,
// not the run.
func (s *Subject) Start(ctx context.Context, g *sample.Group, p Params, pl Place) (*Process, error) {
	p = p.withDefaults()
	if err := s.checkStart(p, pl); err != nil {
		return nil, err
	}
	process, err := s.launch(ctx, g, p, pl)
	if err != nil {
		return nil, err
	}
	if err := process.awaitReady(ctx, p, pl); err != nil {
		process.stopRequested.Store(true)
		process.kill()
		process.closePipes()
		return nil, err
	}
	return process, nil
}

// checkStart returns an error for parameters that cannot work.
func (s *Subject) checkStart(p Params, pl Place) error {
	addr := net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	switch {
	case !s.Serves(p.Workload):
		return fmt.Errorf("%s does not serve the workload %q: choose among %s", s.Name, p.Workload, strings.Join(s.Workloads, ", "))
	case net.ParseIP(p.Host) == nil:
		return fmt.Errorf("%s cannot listen at %q: give an IP address such as 127.0.0.1 or ::1", s.Name, p.Host)
	case p.Port < 1 || p.Port > 65535:
		return fmt.Errorf("%s cannot listen on port %d: give one from 1 to 65535", s.Name, p.Port)
	case p.Size < 0 || p.WorkUS < 0 || p.WaitMS < 0:
		return fmt.Errorf("%s: size, work and wait cannot be negative", s.Name)
	case p.SleepMS < 0 || p.SleepEvery < 0 || p.Filters < 0:
		return fmt.Errorf("%s: sleeps and filters cannot be negative", s.Name)
	case !filepath.IsAbs(p.Www) && s.usesPlaceholder("{www}"):
		return fmt.Errorf("%s cannot serve the folder %q: give an absolute path", s.Name, p.Www)
	case pl.Sample.Netns == "" && errors.Is(freeport.Try(p.Host, p.Port), syscall.EADDRINUSE):
		return fmt.Errorf("%s cannot listen at %s: the port is %w; stop that or choose another port", s.Name, addr, ErrPortInUse)
	}
	return nil
}

// launch starts the run command with its pipes and goroutines.
func (s *Subject) launch(ctx context.Context, g *sample.Group, p Params, pl Place) (*Process, error) {
	words := s.Command(p)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = cmd.Environ()
	cmd.Env = overlay(append(cmd.Env, s.Environ(p)...), pl.Env)
	process := &Process{subject: s, group: g, cmd: cmd, addr: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)),
		stderr: tail.New(stderrKept), done: make(chan struct{})}
	process.stop = sync.OnceValue(process.stopOnce)
	return process, process.begin(ctx, pl)
}

// overlay adds settings to an environment; the last setting of a name is used. The settings within
// GODEBUG are merged.
func overlay(env, over []string) []string {
	const list = "GODEBUG="
	for _, setting := range over {
		for _, earlier := range slices.Backward(env) {
			if strings.HasPrefix(setting, list) && strings.HasPrefix(earlier, list) && earlier != list {
				setting = earlier + "," + setting[len(list):]
				break
			}
		}
		env = append(env, setting)
	}
	return env
}

// begin creates the pipes and starts the command and the goroutines. A failure leaves nothing
// behind.
func (p *Process) begin(ctx context.Context, pl Place) error {
	theirs, sinks, err := p.connect(pl)
	if err == nil {
		err = p.spawn(ctx, pl.Sample)
	}
	for _, f := range theirs {
		// only the subject's processes keep the write ends, so the pipe ends with their last exit
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return err
	}
	go p.wait()
	for i, f := range p.pipes {
		p.readers.Add(1)
		go p.read(f, sinks[i])
	}
	return nil
}

// connect creates a pipe for standard error, and one for standard output if readiness is a line on
// it.
func (p *Process) connect(pl Place) (theirs []*os.File, sinks []io.Writer, err error) {
	pipe := func(to ...io.Writer) *os.File {
		r, w, pipeErr := os.Pipe()
		if pipeErr != nil {
			err = fmt.Errorf("%s cannot start: %w", p.subject.Name, pipeErr)
			return nil
		}
		enlarge(w, outputBuffer)
		if text, ok := strings.CutPrefix(p.subject.Ready, "line:"); ok {
			p.watches = append(p.watches, newWatch(text))
			to = append(to, p.watches[len(p.watches)-1])
		}
		p.pipes, theirs, sinks = append(p.pipes, r), append(theirs, w), append(sinks, io.MultiWriter(to...))
		return w
	}
	p.cmd.Stderr = pipe(p.stderr)
	switch {
	case strings.HasPrefix(p.subject.Ready, "line:") && pl.Stdout != nil:
		p.cmd.Stdout = pipe(pl.Stdout)
	case strings.HasPrefix(p.subject.Ready, "line:"):
		p.cmd.Stdout = pipe()
	case pl.Stdout != nil:
		p.cmd.Stdout = pl.Stdout
	}
	return theirs, sinks, err
}

// spawn starts the command, while no build changes its files.
func (p *Process) spawn(ctx context.Context, pl sample.Placement) error {
	if len(p.subject.BuildCmd) > 0 {
		unlock, err := p.subject.lock(ctx, syscall.LOCK_SH)
		if err != nil {
			return err
		}
		defer unlock()
	}
	start := p.cmd.Start
	if p.group != nil {
		start = func() error { return p.group.Start(p.cmd, pl) }
	}
	if err := start(); err != nil {
		return p.subject.cannotStart(err, p.cmd.Args)
	}
	return nil
}

// cannotStart explains why a command could not be started.
func (s *Subject) cannotStart(err error, words []string) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s cannot start: %s", s.Name, NotInstalled(words[0]))
	case errors.Is(err, fs.ErrNotExist) && len(s.BuildCmd) > 0:
		return fmt.Errorf("%s cannot start: %s does not exist: build it first (weir lab build %s)", s.Name, words[0], s.Name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot start: %s does not exist: correct run in %s", s.Name, words[0], s.File)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot start: %s is not executable: chmod +x it, or name its interpreter first in run", s.Name, words[0])
	}
	return fmt.Errorf("%s cannot start: %w", s.Name, err)
}

// awaitReady waits until the subject is ready, or returns why it is not.
func (p *Process) awaitReady(ctx context.Context, params Params, pl Place) error {
	ready := p.subject.readiness(p, params)
	within := pl.ReadyTimeout
	if within == 0 {
		within = readyTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errNeverReady)
	defer cancel()
	tick := time.NewTicker(pause / 2)
	defer tick.Stop()
	for !ready(ctx) {
		select {
		case <-tick.C:
		case <-p.done:
			return p.diedEarly()
		case <-ctx.Done():
			return p.notReady(context.Cause(ctx), within)
		}
	}
	if p.Exit() != nil { // another program answered
		return p.diedEarly()
	}
	return nil
}

var errNeverReady = errors.New("never ready")

func (p *Process) diedEarly() error {
	err := p.Err()
	if portTaken(p.Stderr()) {
		return fmt.Errorf("%w: the port of %s is %w; stop that or choose another port", err, p.addr, ErrPortInUse)
	}
	if p.subject.Temporary {
		return fmt.Errorf("%w before it was ready", err)
	}
	return fmt.Errorf("%w before it was ready; to see it by itself: %s", err, p.subject.atShell(p.cmd.Args))
}

func (p *Process) notReady(cause error, within time.Duration) error {
	if cause != errNeverReady {
		return fmt.Errorf("%s: interrupted while it was starting: %w", p.subject.Name, cause)
	}
	text := fmt.Sprintf("%s was not ready within %v: it should %s", p.subject.Name, within, p.subject.readySign(p.addr))
	if line := clip(p.stderr.LastLine()); line != "" {
		text += fmt.Sprintf("; its last line is %q", line)
	}
	return fmt.Errorf("%s; correct run or ready in %s", text, p.subject.File)
}
