package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
)

// Way is a concurrency model: how the connections of a service are run. It indexes [Ways].
type Way int

// The concurrency models.
const (
	Goroutine Way = iota // a goroutine for each connection, scheduled by the Go runtime
	// A fixed number of goroutines, each of which serves one connection to its end. Further
	// connections wait in the kernel's accept queue.
	Pool
	Loop // event loops that call sessions; only the loop itself blocks
	// A coroutine for each connection, resumed by an event loop: blocking code at the cost of a
	// loop.
	Coroutine
	// Processes started in advance that accept from one shared listener, with an event loop in
	// each.
	Prefork
	Process // a process started for each connection
)

// WayInfo is a row of the table of concurrency models.
type WayInfo struct {
	Name            string // as users write it in flags and configuration
	RunsSessions    bool   // Run accepts it
	RunsHandlers    bool   // RunBlocking accepts it for Handle; every model runs Handler.Open
	NeedsDescriptor bool   // it needs a listener that has a file descriptor
	MultiProcess    bool   // it spreads connections over processes and rejects InProcess services
	LinuxOnly       bool   // it runs on Linux only
}

// Ways says which model runs which form of a service. A Way is an index into it.
var Ways = []WayInfo{
	Goroutine: {Name: "goroutine", RunsSessions: true, RunsHandlers: true},
	Pool:      {Name: "pool", RunsSessions: true, RunsHandlers: true},
	Loop:      {Name: "loop", RunsSessions: true, NeedsDescriptor: true, LinuxOnly: true},
	Coroutine: {Name: "coroutine", RunsSessions: true, RunsHandlers: true, NeedsDescriptor: true, LinuxOnly: true},
	Prefork:   {Name: "prefork", RunsSessions: true, RunsHandlers: true, NeedsDescriptor: true, MultiProcess: true, LinuxOnly: true},
	Process:   {Name: "process", RunsSessions: true, RunsHandlers: true, NeedsDescriptor: true, MultiProcess: true},
}

// run runs a service by the model, which is valid. The functions are not in Ways: a program that
// does not call Run, such as one with a stack of its own, does not contain them.
func (w Way) run(ctx context.Context, l net.Listener, f serviceForm, o Options) error {
	switch w {
	case Goroutine:
		return runGoroutines(ctx, l, f, o)
	case Pool:
		return runPool(ctx, l, f, o)
	case Loop:
		return runLoop(ctx, l, f, o)
	case Coroutine:
		return runCoroutine(ctx, l, f, o)
	case Prefork:
		return runPrefork(ctx, l, f, o)
	}
	return runProcesses(ctx, l, f, o)
}

// ParseWay returns the concurrency model of that name.
func ParseWay(name string) (Way, error) {
	if w := slices.IndexFunc(Ways, func(t WayInfo) bool { return t.Name == name }); w >= 0 {
		return Way(w), nil
	}
	return 0, fmt.Errorf("%q is no concurrency model: choose one of %s", name, strings.Join(WayNames(), ", "))
}

// WayNames returns the names of the models, in the order of Ways.
func WayNames() (names []string) {
	for _, t := range Ways {
		names = append(names, t.Name)
	}
	return names
}

func (w Way) String() string {
	if w < 0 || int(w) >= len(Ways) {
		return fmt.Sprintf("Way(%d)", int(w))
	}
	return Ways[w].Name
}

// reject returns why this model cannot run that service over l, or nil if it can.
func (w Way) reject(l net.Listener, k serviceForm, o Options) error {
	if w < 0 || int(w) >= len(Ways) {
		return fmt.Errorf("serve: unknown concurrency model %d", int(w))
	}
	t := Ways[w]
	switch {
	case k.open == nil && k.handle == nil && k.respond == nil:
		return errors.New("serve: the service has neither Open nor Handle: set one of them")
	case k.handle != nil && k.respond != nil:
		return errors.New("serve: the handler has both Open and Handle: set one of them")
	case k.handle != nil && !t.RunsHandlers:
		return fmt.Errorf("serve: %s calls sessions on its event loop, which a blocking handler would stall: run the handler by %s, or write a Session", w, Coroutine)
	case t.LinuxOnly && !onLinux:
		return fmt.Errorf("serve: %s waits by epoll, which this system does not have: choose %s or %s", w, Goroutine, Pool)
	case t.MultiProcess && k.state == InProcess:
		return fmt.Errorf("serve: %s spreads connections over processes, but the state of this service is in one process: choose a model that runs in one process", w)
	case o.IsChild:
		return rejectInherited(w, l)
	case l == nil:
		return errors.New("serve: there is no listener")
	case t.NeedsDescriptor && !hasDescriptor(l):
		return fmt.Errorf("serve: %s needs a listener with a file descriptor, and %T has none (TLS and stacks in user space have none): choose %s or %s", w, l, Goroutine, Pool)
	case t.MultiProcess && len(o.ChildCommand) == 0:
		return fmt.Errorf("serve: %s starts this program again as a child process: set Options.ChildCommand", w)
	}
	return w.rejectMoving(k, o)
}

func rejectInherited(w Way, l net.Listener) error {
	if !Ways[w].MultiProcess {
		return fmt.Errorf("serve: %s has no child processes, so nothing can be inherited", w)
	}
	if l != nil {
		return fmt.Errorf("serve: a child of %s inherits its descriptor and takes no listener", w)
	}
	return nil
}

func hasDescriptor(l net.Listener) bool {
	_, ok := l.(syscall.Conn)
	return ok
}
