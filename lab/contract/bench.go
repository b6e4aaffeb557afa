package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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

	out      *os.File    // the server's standard output
	flooded  atomic.Bool // it has more than maxOutput bytes, and the server was killed
	stopped  bool        // a stop was requested
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
	err = Try(func() {
		for _, prepare := range []func(*Bench){r.kind.Prepare, c.Prepare} {
			if prepare != nil {
				prepare(b)
			}
		}
		b.openOutput()
		b.place(r.kind.Port)
	})
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
func (b *Bench) openOutput() {
	var err error
	b.out, err = os.OpenFile(filepath.Join(b.Dir, "output"), os.O_CREATE|os.O_RDWR, 0o600)
	Must(err)
	b.Cleanup(b.out.Close)
}

// portAttempts is how many ports are tried, because another program may take one between Choose
// and the server's start.
const portAttempts = 3

// start starts the server. The end of the bench stops it and removes what is left of it.
func (b *Bench) start() error {
	over := make(chan struct{}) // closed when the processes of the server have ended
	var watching sync.WaitGroup
	b.Cleanup(func() error { close(over); watching.Wait(); return nil })
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
	process := b.Process
	watching.Go(func() { b.limitOutput(process, over) })
	// checks that need the error have called it before
	b.Cleanup(func() error { _ = b.Process.Stop(); return nil })
	return nil
}

// serve starts the server, runs the checks, stops the server and judges its output.
func (b *Bench) serve(checks func()) error {
	if err := b.start(); err != nil {
		return err
	}
	err := b.stopAfter(checks)
	if b.flooded.Load() {
		return fmt.Errorf("standard output: expected at most %d MiB, saw more, and killed the server", maxOutput>>20)
	}
	return err
}

// stopAfter runs the checks, stops the server and judges its output.
func (b *Bench) stopAfter(checks func()) error {
	err := Try(checks)
	if early := b.earlyExit(err != nil); early != nil {
		return fmt.Errorf("the server exited early: %w", early)
	}
	if !b.stopped {
		if stopped := b.stop(); err == nil {
			err = stopped
		}
	}
	if err != nil || b.Output == nil {
		return err
	}
	return Try(func() { Must(b.Output(b.ReadOutput())) })
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

// stop stops the server. Death by the signal is accepted; only Terminate requires more.
func (b *Bench) stop() error {
	b.stopped = true
	if err := b.Process.Stop(); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}

// Terminate sends SIGTERM while meanwhile runs (nil: nothing), which expects what is still due. The
// server must exit with status 0 and leave no process.
func (b *Bench) Terminate(meanwhile func()) {
	stopped := make(chan error, 1) // one result, from the stopping goroutine
	go func() { stopped <- b.stop() }()
	var err error
	if meanwhile != nil {
		err = Try(meanwhile)
	}
	Must(<-stopped)
	exit := b.Process.Exit()
	Expect(exit.Success(), "after SIGTERM: expected exit status 0, saw %s", exit)
	Expect(err == nil, "after SIGTERM: %w", err)
}

// Interrupt sends SIGINT, which a terminal sends. The server must exit with status 0 and leave no
// process.
func (b *Bench) Interrupt() {
	b.stopped = true
	Must(syscall.Kill(b.Process.PID(), syscall.SIGINT))
	During("after SIGINT", b.awaitExit)
}

// awaitExit waits until all processes of the server have exited, and checks its exit status.
func (b *Bench) awaitExit() {
	ctx, cancel := context.WithTimeout(b.Context, b.Timeout)
	defer cancel()
	select {
	case <-b.Process.Done():
	case <-ctx.Done():
		Must(b.Context.Err())
		Failf("expected it to exit, saw it run on for %v", b.Timeout)
	}
	exit := b.Process.Exit()
	Expect(exit.Success(), "expected exit status 0, saw %s", exit)
	for len(b.Process.Left()) > 0 {
		Expect(ctx.Err() == nil, "expected no process to be left, saw %v", b.Process.Left())
		time.Sleep(PollInterval)
	}
}

// Addr returns the server's address.
func (b *Bench) Addr() string { return net.JoinHostPort(b.Params.Host, strconv.Itoa(b.Params.Port)) }
