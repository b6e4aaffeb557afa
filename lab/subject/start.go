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

	"weir/internal/tail"
	"weir/lab/sample"
)

// readyWithin is how long a server may take until it is ready: virtual machines on a busy machine
// take seconds.
const readyWithin = 20 * time.Second

// ErrPortInUse is in the error of a Start at an address where somebody else listens: FreePort only
// finds out what was free.
var ErrPortInUse = errors.New("in use by another program")

// Place is where a subject runs and writes.
type Place struct {
	Stdout *os.File         // nil means /dev/null; stays the caller's
	Env    []string         // NAME=value, over the subject's own; GODEBUG is added to what is in it
	Sample sample.Placement // cores and network namespace; needs a group
	Within time.Duration    // for getting ready; 0 means 20 s
}

// Start runs the subject in the group (nil: without accounting) and returns when it is ready. The
// error says why it is not: a parameter that cannot work, its port in use, an early end with the
// exit status and what it said last, or never ready. Then nothing of it is left. ctx ends the
// waiting, not the running.
func (s *Subject) Start(ctx context.Context, g *sample.Group, p Params, pl Place) (*Process, error) {
	p = p.withDefaults()
	if err := s.refuse(p, pl); err != nil {
		return nil, err
	}
	process, err := s.launch(g, p, pl)
	if err != nil {
		return nil, err
	}
	if err := process.awaitReady(ctx, p, pl); err != nil {
		process.asked.Store(true)
		process.kill()
		process.closePipes()
		return nil, err
	}
	return process, nil
}

// refuse finds what would make a start pointless.
func (s *Subject) refuse(p Params, pl Place) error {
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
	case !filepath.IsAbs(p.Www) && s.told("{www}"):
		return fmt.Errorf("%s cannot serve the folder %q: give an absolute path", s.Name, p.Www)
	case pl.Sample.Netns == "" && errors.Is(tryPort(net.ParseIP(p.Host), p.Port), syscall.EADDRINUSE):
		return fmt.Errorf("%s cannot listen at %s: the port is %w; stop that or choose another port", s.Name, addr, ErrPortInUse)
	}
	return nil
}

// launch starts the run command and what goes with it.
func (s *Subject) launch(g *sample.Group, p Params, pl Place) (*Process, error) {
	words := s.Command(p)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = cmd.Environ()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+s.fill([]string{value}, p)[0])
	}
	cmd.Env = overlay(cmd.Env, pl.Env)
	process := &Process{subject: s, group: g, cmd: cmd, addr: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)),
		stderr: tail.New(stderrKept), done: make(chan struct{})}
	process.stop = sync.OnceValue(process.stopOnce)
	return process, process.begin(pl)
}

// overlay adds settings to an environment; the last of a name counts. GODEBUG holds settings of its
// own, which keep their effect beside new ones.
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

// begin connects the pipes, starts the command and the goroutines. A failure leaves nothing behind.
func (p *Process) begin(pl Place) error {
	theirs, sinks, err := p.connect(pl)
	if err == nil {
		err = p.spawn(pl.Sample)
	}
	for _, f := range theirs {
		// only the subject's processes keep the write ends: their last exit is the end of the pipe
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

// connect makes a pipe for standard error, and one for standard output if a line on it is waited
// for.
func (p *Process) connect(pl Place) (theirs []*os.File, sinks []io.Writer, err error) {
	pipe := func(to ...io.Writer) *os.File {
		r, w, pipeErr := os.Pipe()
		if pipeErr != nil {
			err = fmt.Errorf("%s cannot start: %w", p.subject.Name, pipeErr)
			return nil
		}
		if text, ok := strings.CutPrefix(p.subject.Ready, "line:"); ok {
			p.awaited = append(p.awaited, newWatch(text))
			to = append(to, p.awaited[len(p.awaited)-1])
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
func (p *Process) spawn(pl sample.Placement) error {
	if len(p.subject.BuildCmd) > 0 {
		unlock, err := p.subject.lock(syscall.LOCK_SH)
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

// cannotStart says why a command could not be started at all.
func (s *Subject) cannotStart(err error, words []string) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s cannot start: %s", s.Name, NotInstalled(words[0]))
	case errors.Is(err, fs.ErrNotExist) && len(s.BuildCmd) > 0:
		return fmt.Errorf("%s cannot start: %s is not there: build it first (weir lab build %s)", s.Name, words[0], s.Name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot start: %s is not there: correct run in %s", s.Name, words[0], s.File)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot start: %s may not be executed: chmod +x it, or name its interpreter first in run", s.Name, words[0])
	}
	return fmt.Errorf("%s cannot start: %w", s.Name, err)
}

// awaitReady returns when the subject can be used, or why it cannot.
func (p *Process) awaitReady(ctx context.Context, params Params, pl Place) error {
	ready := p.subject.readiness(p, params)
	within := pl.Within
	if within == 0 {
		within = readyWithin
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
	if p.Exit() != nil { // somebody else answered
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
	return fmt.Errorf("%w before it was ready; to see it by itself: cd %s && %s", err, shellWords([]string{p.cmd.Dir}), shellWords(p.cmd.Args))
}

func (p *Process) notReady(cause error, within time.Duration) error {
	if cause != errNeverReady {
		return fmt.Errorf("%s: interrupted while it was starting: %w", p.subject.Name, cause)
	}
	text := fmt.Sprintf("%s was not ready within %v: it should %s", p.subject.Name, within, p.subject.promise(p.addr))
	if line := clip(p.stderr.LastLine()); line != "" {
		text += fmt.Sprintf("; it said last %q", line)
	}
	return fmt.Errorf("%s; correct run or ready in %s", text, p.subject.File)
}
