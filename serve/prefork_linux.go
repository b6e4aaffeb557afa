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
// Ownership: the parent holds the listener and starts o.Width children, each of which runs o.Loops
// event loops over it (sessions called directly, handlers as coroutines) and accepts for itself.
// The listener is one, inherited, and not one for each process by SO_REUSEPORT: a connection then
// waits for whichever child is free instead of for the child that the kernel's hash chose, none is
// lost when a child ends, and any listener with a descriptor will do. The price is that a busy
// child may leave more to an idle one than its share.
//
// A child that ends unasked is started again. A child that ended within a second of its start is
// replaced after a delay, which doubles each time. When children have ended like that time and
// again and no child of the run has ever lived longer, the run ends: the program cannot serve. Once
// a child has lived longer the run goes on, so that a request that crashes children does not end
// it.
//
// Spread: a child that has accepted goes to the end of the kernel's queue, so that successive
// connections go to successive children. The parent does not know how many each child has.
//
// Stop: the parent closes its listener and stops the children: see there.
func runPrefork(ctx context.Context, l net.Listener, w work, o Options) error {
	if o.Inherited {
		return loopsInherited(ctx, w, o)
	}
	setDefault(&o.Width, runtime.NumCPU())
	defer l.Close()
	kids, err := newChildren(o)
	if err != nil {
		return err
	}
	failed := keepChildren(ctx, kids, l.(syscall.Conn))
	l.Close()
	return errors.Join(failed, kids.stop())
}

const (
	soon       = time.Second            // a child that lived less long died young
	firstDelay = 100 * time.Millisecond // before a child is started again that died young
	longDelay  = 10 * time.Second       // at most
	hopeless   = 4                      // early deaths in a row for each child that end the run
)

// errStillborn is what Run returns when no child lives.
var errStillborn = errors.New("serve: the child processes end as soon as they are started")

// nursery keeps children running. One goroutine owns it; timers and the reaper send to its
// channels.
type nursery struct {
	kids   *children
	socket syscall.Conn
	endedc chan *place // reaper -> nursery, one for each that runs; never closed
	duec   chan *place // timers -> nursery, one for each that waits to be started; never closed
	places []*place
	young  int  // early deaths in a row
	lived  bool // a child of this run has lived longer
}

// place is where a child runs, or is to run. The reaper sets status, before it gives the place
// back.
type place struct {
	began  time.Time // zero: nobody runs
	delay  time.Duration
	status syscall.WaitStatus
}

// keepChildren keeps o.Width children running until ctx ends.
func keepChildren(ctx context.Context, kids *children, listener syscall.Conn) error {
	width := kids.o.Width
	n := &nursery{kids: kids, socket: listener, endedc: make(chan *place, width), duec: make(chan *place, width)}
	for range width {
		p := new(place)
		if err := n.start(p); err != nil {
			return err
		}
		n.places = append(n.places, p)
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case p := <-n.duec:
			if n.start(p) != nil { // it may be possible later
				err = n.ended(p)
			}
		case p := <-n.endedc:
			err = n.ended(p)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (n *nursery) start(p *place) error {
	p.began = time.Now()
	return n.kids.start(n.socket, func(s syscall.WaitStatus) {
		p.status = s
		n.endedc <- p
	})
}

// ended has the place of a child that ended, or could not be started, filled again. It returns an
// error when the program cannot serve.
func (n *nursery) ended(p *place) error {
	lived := time.Since(p.began)
	p.began = time.Time{}
	if lived >= soon {
		n.young, n.lived, p.delay = 0, true, 0
	} else {
		n.young++
		p.delay = min(max(2*p.delay, firstDelay), longDelay)
	}
	if n.young >= hopeless*len(n.places) && !n.lived && !n.anyOlder() {
		return fmt.Errorf("%w, the last with exit status %d", errStillborn, p.status.ExitStatus())
	}
	time.AfterFunc(p.delay, func() { n.duec <- p })
	return nil
}

// anyOlder reports whether a child runs that did not die young.
func (n *nursery) anyOlder() bool {
	return slices.ContainsFunc(n.places, func(p *place) bool { return !p.began.IsZero() && time.Since(p.began) >= soon })
}

// loopsInherited is the child's part.
func loopsInherited(ctx context.Context, w work, o Options) error {
	file, ctx, release, err := inherited(ctx)
	if err != nil {
		return err
	}
	defer release()
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return fmt.Errorf("serve: the inherited listener: %w", err)
	}
	return runLoops(ctx, l, w, o, false)
}
