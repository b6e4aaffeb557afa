package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalled is the error of a command that got a second signal while it was stopping.
type signalled struct {
	signal syscall.Signal // the second
	err    error          // of the command; nil: no work was cut off
}

func (s *signalled) Error() string {
	if s.err == nil {
		return fmt.Sprintf("stopped at once by a second signal (%v), with nothing to cut off", s.signal)
	}
	return fmt.Sprintf("stopped at once by a second signal (%v): %v", s.signal, s.err)
}

// Unwrap returns the error of the command.
func (s *signalled) Unwrap() error { return s.err }

// killGrace is how long a command may take to exit after a second signal.
const killGrace = time.Second

// interrupts handles SIGINT and SIGTERM: the first cancels the context of the command, and a second
// ends the process within killGrace, whatever the command is doing.
type interrupts struct {
	// from the runtime; capacity 2: the first starts the stop, the second cuts it short
	signals chan os.Signal
	over    chan struct{} // closed by stop; no values
	ended   chan struct{} // closed by the goroutine that watch starts

	mu     sync.Mutex
	second syscall.Signal // 0: none yet
	// cuts the command's stop short; nil: its child processes are killed
	cut func()
}

type interruptsKey struct{}

// watchInterrupts returns the context of a command. The caller must call stop.
func watchInterrupts() (context.Context, *interrupts) {
	i := &interrupts{signals: make(chan os.Signal, 2), over: make(chan struct{}), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), interruptsKey{}, i))
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() { // until stop
		defer close(i.ended)
		i.wait(cancel)
	}()
	return ctx, i
}

// doubled is the time within which the same signal again is the first one. Timeout(1) sends its
// signal to the process and then to its group, so that the process receives it twice.
const doubled = 100 * time.Millisecond

func (i *interrupts) wait(cancel func()) {
	var first os.Signal // nil: none yet
	var at time.Time
	for {
		select {
		case sig := <-i.signals:
			switch {
			case first == nil:
				first, at = sig, time.Now()
				cancel()
			case sig == syscall.SIGHUP: // the kernel and the shell both send it, and nobody waits
			case sig != first || time.Since(at) > doubled:
				i.end(sig.(syscall.Signal))
				return
			}
		case <-i.over:
			return
		}
	}
}

// surviveTerminal has the command stop as after Ctrl-C when its terminal is closed, and go on when
// nobody reads its output. Otherwise the process would end at once, and leave processes and files.
// Under nohup it goes on in both cases.
func surviveTerminal(ctx context.Context) {
	if i, ok := ctx.Value(interruptsKey{}).(*interrupts); ok && !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	// the write fails then; a child does not inherit this, as it would inherit an ignored signal
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// end cuts the command short. If the command does not return within killGrace, the process exits.
func (i *interrupts) end(sig syscall.Signal) {
	i.mu.Lock()
	cut := i.cut
	i.second = sig
	i.mu.Unlock()
	time.AfterFunc(killGrace, func() {
		fmt.Fprintln(os.Stderr, "weir:", &signalled{sig, errNotDone})
		os.Exit(128 + int(sig))
	})
	if cut == nil {
		cut = killChildren
	}
	cut()
}

// onSecond registers a function for the second signal. The function that it returns removes the
// registration.
func onSecond(ctx context.Context, cut func()) (forget func()) {
	i, ok := ctx.Value(interruptsKey{}).(*interrupts)
	if !ok {
		return func() {}
	}
	set := func(f func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.cut = f
	}
	set(cut)
	return func() { set(nil) }
}

// releaseInterrupts ends the handling of signals before the end of the command, which handles them
// itself.
func releaseInterrupts(ctx context.Context) {
	if i, ok := ctx.Value(interruptsKey{}).(*interrupts); ok {
		signal.Stop(i.signals)
	}
}

// stop stops the handling of signals. It returns the error of the command, as *signalled if a
// second signal came.
func (i *interrupts) stop(err error) error {
	signal.Stop(i.signals)
	close(i.over)
	<-i.ended
	if i.second != 0 {
		return &signalled{i.second, err}
	}
	return err
}
