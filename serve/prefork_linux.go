package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// runPrefork runs Prefork.
//
// Ownership: the parent holds the listener and starts o.Workers children. Each child runs o.Loops
// event loops over the listener (sessions and responders called directly, other handlers as
// coroutines) and accepts for itself. All children inherit one listener, instead of one for each
// process by SO_REUSEPORT. So a connection waits for any free child and not for the child that the
// kernel's hash chose, and none is lost when a child exits. Any listener with a descriptor works.
// The price is that a busy child may leave more than its share to an idle one.
//
// A child that exits unasked is started again. A child that exited within a second of its start is
// replaced after a delay, which doubles each time. The run ends if children exit early again and
// again and no child of the run has ever lived longer: the program cannot serve. Once a child has
// lived longer, the run continues, so that a request that crashes children does not end the
// service.
//
// Load balancing: a child that has accepted moves to the end of the kernel's queue, so that
// successive connections go to successive children. The parent does not know how many connections
// each child has.
//
// Stop: the parent closes its listener and stops the children (childProcesses).
func runPrefork(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	if o.IsChild {
		return runInheritedLoops(ctx, w, o)
	}
	setDefault(&o.Workers, runtime.NumCPU())
	defer l.Close()
	kids, err := newChildProcesses(o)
	if err != nil {
		return err
	}
	failed := superviseChildren(ctx, kids, l.(syscall.Conn))
	l.Close()
	return errors.Join(failed, kids.stop())
}

const (
	minLifetime     = time.Second            // a child that lived less long has exited early
	minRestartDelay = 100 * time.Millisecond // before the first restart after an early exit
	maxRestartDelay = 10 * time.Second       // the longest delay before a restart
	maxEarlyExits   = 4                      // early exits in a row for each child that end the run
)

// errEarlyExits is the error of Run when no child stays alive.
var errEarlyExits = errors.New("serve: the child processes exit as soon as they are started")

// supervisor keeps child processes running. One goroutine owns it; timers and the reaper send to
// its channels.
type supervisor struct {
	children *childProcesses
	listener syscall.Conn
	endedc   chan *childSlot // reaper -> supervisor, one for each running child; never closed
	// timers -> supervisor, one for each slot that waits for a restart; never closed
	restartc   chan *childSlot
	slots      []*childSlot
	earlyExits int  // early exits in a row
	anyLived   bool // some child of this run has lived longer than minLifetime
}

// childSlot is the place of one child process. The reaper sets status before it sends the slot
// back.
type childSlot struct {
	startedAt    time.Time // zero: no child runs
	restartDelay time.Duration
	status       syscall.WaitStatus
}

// superviseChildren keeps o.Workers children running until ctx ends.
func superviseChildren(ctx context.Context, kids *childProcesses, listener syscall.Conn) error {
	width := kids.options.Workers
	n := &supervisor{children: kids, listener: listener, endedc: make(chan *childSlot, width), restartc: make(chan *childSlot, width)}
	for range width {
		p := new(childSlot)
		if err := n.start(p); err != nil {
			return err
		}
		n.slots = append(n.slots, p)
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case p := <-n.restartc:
			if n.start(p) != nil { // it may work later
				err = n.childExited(p)
			}
		case p := <-n.endedc:
			err = n.childExited(p)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (n *supervisor) start(p *childSlot) error {
	p.startedAt = time.Now()
	return n.children.start(n.listener, func(s syscall.WaitStatus) {
		p.status = s
		n.endedc <- p
	})
}

// childExited schedules a restart for a slot whose child has exited or could not be started. It
// returns an error if the program cannot serve.
func (n *supervisor) childExited(p *childSlot) error {
	lived := time.Since(p.startedAt)
	p.startedAt = time.Time{}
	if lived >= minLifetime {
		n.earlyExits, n.anyLived, p.restartDelay = 0, true, 0
	} else {
		n.earlyExits++
		p.restartDelay = min(max(2*p.restartDelay, minRestartDelay), maxRestartDelay)
	}
	if n.earlyExits >= maxEarlyExits*len(n.slots) && !n.anyLived && !n.anyStable() {
		return fmt.Errorf("%w, the last with exit status %d", errEarlyExits, p.status.ExitStatus())
	}
	time.AfterFunc(p.restartDelay, func() { n.restartc <- p })
	return nil
}

// anyStable reports whether a child runs that has lived longer than minLifetime.
func (n *supervisor) anyStable() bool {
	return slices.ContainsFunc(n.slots, func(p *childSlot) bool { return !p.startedAt.IsZero() && time.Since(p.startedAt) >= minLifetime })
}

// runInheritedLoops is the child's part.
func runInheritedLoops(ctx context.Context, w serviceForm, o Options) error {
	file, ctx, release, err := inherited(ctx, o)
	if err != nil {
		return err
	}
	defer release()
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return fmt.Errorf("serve: the inherited listener: %w", err)
	}
	return runLoops(ctx, l, w, o, w.handle != nil)
}
