package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// Way is how connections are run. It indexes [Ways].
type Way int

// The ways.
const (
	Goroutine Way = iota // a goroutine for each connection, woken by Go's scheduler
	// a fixed number of goroutines, each with one connection to its end; further ones wait to be
	// accepted
	Pool
	Loop // event loops that call sessions; nothing waits but the loop
	// a coroutine for each connection, resumed by an event loop: straight-line code at the loop's
	// price
	Coroutine
	// processes started beforehand that accept from one listener, an event loop in each
	Prefork
	Process // a process started for each connection
)

// Trait is a row of the table of ways.
type Trait struct {
	Name     string // as users write it
	Sessions bool   // Run takes it
	Handlers bool   // RunBlocking takes it
	Needs    bool   // needs a listener that has a file descriptor
	Splits   bool   // spreads connections over processes, so refuses InProcess services
	Linux    bool   // runs on Linux only
	run      func(context.Context, net.Listener, work, Options) error
}

// Ways says what runs what. A Way is an index into it.
var Ways []Trait

// The table is filled when the program starts because the drivers in it refer to it.
func init() {
	Ways = []Trait{
		Goroutine: {Name: "goroutine", Sessions: true, Handlers: true, run: runGoroutines},
		Pool:      {Name: "pool", Sessions: true, Handlers: true, run: runPool},
		Loop:      {Name: "loop", Sessions: true, Needs: true, Linux: true, run: runLoop},
		Coroutine: {Name: "coroutine", Sessions: true, Handlers: true, Needs: true, Linux: true, run: runCoroutine},
		Prefork:   {Name: "prefork", Sessions: true, Handlers: true, Needs: true, Splits: true, Linux: true, run: runPrefork},
		Process:   {Name: "process", Sessions: true, Handlers: true, Needs: true, Splits: true, run: runProcesses},
	}
}

// ParseWay is the way of that name.
func ParseWay(name string) (Way, error) {
	var names []string
	for w, t := range Ways {
		if t.Name == name {
			return Way(w), nil
		}
		names = append(names, t.Name)
	}
	return 0, fmt.Errorf("no way of running is called %q: choose one of %s", name, strings.Join(names, ", "))
}

func (w Way) String() string {
	if w < 0 || int(w) >= len(Ways) {
		return fmt.Sprintf("way %d", int(w))
	}
	return Ways[w].Name
}

// refuses says why this way cannot run that work over l, nil when it can.
func (w Way) refuses(l net.Listener, k work, o Options) error {
	if w < 0 || int(w) >= len(Ways) {
		return fmt.Errorf("serve: there is no way %d", int(w))
	}
	t := Ways[w]
	switch {
	case k.open == nil && k.handle == nil:
		return errors.New("serve: the service has nothing to run: set Open or Handle")
	case k.handle != nil && !t.Handlers:
		return fmt.Errorf("serve: %s calls sessions and would be held up by a handler that blocks: run the handler by %s, or write a Session", w, Coroutine)
	case t.Linux && !onLinux:
		return fmt.Errorf("serve: %s waits by epoll, which this system does not have: choose %s or %s", w, Goroutine, Pool)
	case t.Splits && k.state == InProcess:
		return fmt.Errorf("serve: %s spreads connections over processes, but the state of this service is in one process: choose a way that does not split", w)
	case o.Inherited:
		return refuseInherited(w, l)
	case l == nil:
		return errors.New("serve: there is no listener")
	case t.Needs && !hasDescriptor(l):
		return fmt.Errorf("serve: %s needs a listener with a file descriptor, and %T has none (TLS and stacks in user space have none): choose %s or %s", w, l, Goroutine, Pool)
	case t.Splits && len(o.Child) == 0:
		return fmt.Errorf("serve: %s starts this program again and must be told how: set Options.Child", w)
	}
	return w.refusesMoving(k, o)
}

func refuseInherited(w Way, l net.Listener) error {
	if !Ways[w].Splits {
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
