package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalled is how a server ends that was told to stop a second time, while it finished what was under way.
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

// secondSignal waits for it.
type secondSignal struct {
	signals chan os.Signal // from the runtime: the first begins the stop, the second cuts it short
	over    chan struct{}  // no values, closed by stop
	got     chan os.Signal // from the goroutine that await starts -> stop, one value: nil where there was no second
}

// await calls cut on the second signal to stop. Who calls it calls stop.
func await(cut func()) *secondSignal {
	s := &secondSignal{make(chan os.Signal, 2), make(chan struct{}), make(chan os.Signal, 1)}
	signal.Notify(s.signals, os.Interrupt, syscall.SIGTERM)
	go func() { s.got <- s.wait(cut) }() // until stop
	return s
}

func (s *secondSignal) wait(cut func()) os.Signal {
	for first := true; ; first = false {
		select {
		case sig := <-s.signals:
			if !first {
				cut()
				return sig
			}
		case <-s.over:
			return nil
		}
	}
}

// stop ends the wait, and gives the second signal if it came.
func (s *secondSignal) stop() *syscall.Signal {
	signal.Stop(s.signals)
	close(s.over)
	if sig, ok := (<-s.got).(syscall.Signal); ok {
		return &sig
	}
	return nil
}

// atOnce is how long what is closed in good order may take, after a second signal.
const atOnce = time.Second

// lastWords is err, which is to be the process's last: should what is closed behind it hang, the process ends all the same.
func lastWords(ctx context.Context, err error) error {
	time.AfterFunc(atOnce, func() { os.Exit(exitCode(ctx, err)) })
	return err
}
