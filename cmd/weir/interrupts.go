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

// signalled is the error of a command that got a second signal while it was draining.
type signalled struct {
	signal syscall.Signal // the second
	err    error          // what was cut off; nil: nothing was left
}

func (s *signalled) Error() string {
	if s.err == nil {
		return fmt.Sprintf("stopped at once by a second signal (%v), with nothing to cut off", s.signal)
	}
	return fmt.Sprintf("stopped at once by a second signal (%v): %v", s.signal, s.err)
}

// Unwrap is what was cut off.
func (s *signalled) Unwrap() error { return s.err }

// atOnce is how long what is closed in good order may take, after a second signal.
const atOnce = time.Second

// interrupts are the signals that stop a command, SIGINT and SIGTERM: the first ends its context,
// and with a second the process ends within atOnce, whatever the command is doing.
type interrupts struct {
	// from the runtime, capacity 2: the first begins the stop, the second cuts it short
	signals chan os.Signal
	over    chan struct{} // no values, closed by stop
	ended   chan struct{} // closed by the goroutine that watch starts

	mu     sync.Mutex
	second syscall.Signal // 0: it has not come
	// ends the command's drain; nil: the programs that it has started are killed
	cut func()
}

type interruptsKey struct{}

// watchInterrupts gives the context of a command. The caller calls stop.
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

func (i *interrupts) wait(cancel func()) {
	for first := true; ; first = false {
		select {
		case sig := <-i.signals:
			if !first {
				i.end(sig.(syscall.Signal))
				return
			}
			cancel()
		case <-i.over:
			return
		}
	}
}

// end cuts the command short, which then ends by itself; should it not, the process ends all the
// same.
func (i *interrupts) end(sig syscall.Signal) {
	i.mu.Lock()
	cut := i.cut
	i.second = sig
	i.mu.Unlock()
	time.AfterFunc(atOnce, func() {
		fmt.Fprintln(os.Stderr, "weir:", &signalled{sig, errNotDone})
		os.Exit(128 + int(sig))
	})
	if cut == nil {
		cut = killChildren
	}
	cut()
}

// onSecond has cut called on the second signal of the process with this context. What it returns
// takes that back.
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

// stop ends the wait for signals, and says how the command ended, which returned err: as signalled,
// if a second one came.
func (i *interrupts) stop(err error) error {
	signal.Stop(i.signals)
	close(i.over)
	<-i.ended
	if i.second != 0 {
		return &signalled{i.second, err}
	}
	return err
}
