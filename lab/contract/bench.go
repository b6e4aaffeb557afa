package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"weir/internal/freeport"
	"weir/lab/internal/network"
	"weir/lab/sample"
	"weir/lab/subject"
)

// startError is the error of a server that did not become ready, so that no check can run.
type startError struct{ error }

// Bench is one server under the checks of a round. Only the goroutine of Run may use it, except
// for its methods that say otherwise.
type Bench struct {
	Context context.Context // ends with the round
	Subject *subject.Subject
	Params  subject.Params
	Timeout time.Duration    // time limit for each reaction of the server
	Process *subject.Process // nil until it is started
	Dir     string           // a folder for the files of this server, removed after its exit
	Network *network.Network // that of a subject with a network of its own; nil for others
	State   any              // what the Kind's Prepare made for its checks
	// Output judges the standard output after the exit; nil: every output is correct. A check may
	// set it.
	Output func(output []byte) error

	out      *os.File // the server's standard output
	stopped  bool     // a stop was requested
	cleanups []func() error
}

// newBench prepares a server for a check. The caller must close it.
func newBench(ctx context.Context, r *runner, c Check) (*Bench, error) {
	dir, err := os.MkdirTemp("", "weir-contract-")
	if err != nil {
		return nil, err
	}
	b := &Bench{Subject: r.subject, Params: c.Params, Timeout: r.Timeout, Dir: dir, Output: r.kind.Output}
	ctx, cancel := context.WithCancel(ctx)
	b.Context = ctx
	b.Cleanup(func() error {
		cancel()
		_ = os.RemoveAll(dir) // the system removes what is left of temporary files
		return nil
	})
	b.Params.Host, b.Params.Workload = r.host, r.workload
	for _, prepare := range []func(*Bench) error{r.kind.Prepare, c.Prepare, (*Bench).openOutput} {
		if err == nil && prepare != nil {
			err = prepare(b)
		}
	}
	if err == nil {
		err = b.place(r.kind.Port)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// Cleanup has f called after the exit of the server, before what was passed to Cleanup earlier.
func (b *Bench) Cleanup(f func() error) { b.cleanups = append(b.cleanups, f) }

// close removes what was made for the server.
func (b *Bench) close() (err error) {
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		err = errors.Join(err, b.cleanups[i]())
	}
	return err
}

// openOutput creates the file of the standard output.
func (b *Bench) openOutput() (err error) {
	if b.out, err = os.OpenFile(filepath.Join(b.Dir, "output"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		b.Cleanup(b.out.Close)
	}
	return err
}

// portAttempts is how many ports are tried, because another program may take one between Choose
// and the server's start.
const portAttempts = 3

// start starts the server. The end of the bench stops it and removes what is left of it.
func (b *Bench) start() error {
	group, err := sample.NewGroup(b.Subject.Name)
	if err != nil {
		group = nil // without accounting, its process group shows what it leaves behind
	} else {
		b.Cleanup(func() error { _ = group.Close(); return nil })
	}
	place := subject.Place{Stdout: b.out}
	if b.Network != nil {
		place.Sample.Netns = b.Network.Subject
	}
	for range portAttempts {
		b.Process, err = b.Subject.Start(b.Context, group, b.Params, place)
		if !errors.Is(err, subject.ErrPortInUse) {
			break
		}
		if port, noPort := freeport.Choose(b.Params.Host); noPort == nil {
			b.Params.Port = port
		}
	}
	if err != nil {
		return startError{err}
	}
	// checks that need the error have called it before
	b.Cleanup(func() error { _ = b.Process.Stop(); return nil })
	return nil
}

// serve starts the server, runs the checks, stops the server and judges its output.
func (b *Bench) serve(checks func() error) error {
	if err := b.start(); err != nil {
		return err
	}
	err := checks()
	if early := b.earlyExit(err != nil); early != nil {
		return fmt.Errorf("the server exited early: %w", early)
	}
	if !b.stopped {
		if stopped := b.Stop(); err == nil {
			err = stopped
		}
	}
	if err != nil || b.Output == nil {
		return err
	}
	output, err := b.ReadOutput()
	if err != nil {
		return err
	}
	return b.Output(output)
}

// ExitNotice is how long after its connections broke the exit of a server is awaited.
const ExitNotice = 200 * time.Millisecond

// earlyExit returns how a server exited that was not stopped; nil while it runs.
func (b *Bench) earlyExit(suspect bool) error {
	if b.stopped {
		return nil
	}
	if suspect {
		select {
		case <-b.Process.Done():
		case <-time.After(ExitNotice):
		}
	}
	return b.Process.Err()
}

// Stop stops the server. Death by the signal is accepted; only the check of SIGTERM requires more.
// It may be called from any goroutine, while the checks wait for it.
func (b *Bench) Stop() error {
	b.stopped = true
	if err := b.Process.Stop(); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}

// Interrupt sends SIGINT, which a terminal sends. All processes of the server must exit, with
// status 0.
func (b *Bench) Interrupt() error {
	b.stopped = true
	if err := syscall.Kill(b.Process.PID(), syscall.SIGINT); err != nil {
		return err
	}
	if err := b.awaitExit(); err != nil {
		return fmt.Errorf("after SIGINT: %w", err)
	}
	return nil
}

// awaitExit waits until all processes of the server have exited, and checks its exit status.
func (b *Bench) awaitExit() error {
	deadline := time.NewTimer(b.Timeout)
	defer deadline.Stop()
	select {
	case <-b.Process.Done():
	case <-b.Context.Done():
		return b.Context.Err()
	case <-deadline.C:
		return fmt.Errorf("expected it to exit, saw it run on for %v", b.Timeout)
	}
	if exit := b.Process.Exit(); !exit.Success() {
		return fmt.Errorf("expected exit status 0, saw %s", exit)
	}
	for len(b.Process.Left()) > 0 {
		select {
		case <-deadline.C:
			return fmt.Errorf("expected no process to be left, saw %v", b.Process.Left())
		case <-time.After(PollInterval):
		}
	}
	return nil
}

// Addr returns the server's address.
func (b *Bench) Addr() string { return net.JoinHostPort(b.Params.Host, strconv.Itoa(b.Params.Port)) }
