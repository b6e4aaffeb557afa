package main

import (
	"os"
	"os/signal"
	"syscall"
)

// childReload is the signal by which a parent has its child processes reload. By default it is
// ignored, so it does not end a child that has just been started.
const childReload = syscall.SIGWINCH

// reloads are requests to reload. One stands for several.
type reloads struct {
	signals  chan os.Signal // from the runtime; capacity 1
	site     chan os.Signal // to the site of this process; capacity 1
	children chan os.Signal // to the child processes; capacity 1
	over     chan struct{}  // closed by stop; no values
	ended    chan struct{}  // closed by the goroutine
}

// watchReloads receives SIGHUP, and in a child process also childReload. The caller must call stop.
func watchReloads(isChild bool) *reloads {
	r := &reloads{make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})}
	signal.Notify(r.signals, syscall.SIGHUP)
	if isChild {
		signal.Notify(r.signals, childReload)
	}
	go r.pass()
	return r
}

// pass passes each request on, until stop.
func (r *reloads) pass() {
	defer close(r.ended)
	offer := func(to chan os.Signal, s os.Signal) {
		select {
		case to <- s:
		default: // one is waiting already, or there is no child process
		}
	}
	for {
		select {
		case s := <-r.signals:
			offer(r.site, s)
			offer(r.children, childReload)
		case <-r.over:
			return
		}
	}
}

func (r *reloads) stop() {
	signal.Stop(r.signals)
	close(r.over)
	<-r.ended
}
