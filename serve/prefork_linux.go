package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
)

// runPrefork runs Prefork.
//
// Ownership: the parent holds the listener and starts o.Width children, each of which runs o.Loops event
// loops over it (sessions called directly, handlers as coroutines) and accepts for itself. The listener is
// one, inherited, and not one for each process by SO_REUSEPORT: a connection then waits for whichever child
// is free instead of for the child that the kernel's hash chose, none is lost when a child ends, and any
// listener with a descriptor will do. The price is that a busy child may leave more to an idle one than its
// share.
//
// A child that ends unasked is started again; one that ends within a second of its start ends the run,
// because the next would as well.
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

// soon is how young a child is whose end is no accident.
const soon = time.Second

// keepChildren keeps o.Width children running until ctx ends.
func keepChildren(ctx context.Context, kids *children, listener syscall.Conn) error {
	endedc := make(chan error, kids.o.Width) // reaper -> here, one for each that runs; never closed
	start := func() error {
		began := time.Now()
		return kids.start(listener, func(s syscall.WaitStatus) {
			if time.Since(began) < soon {
				endedc <- fmt.Errorf("serve: a child process ended as soon as it was started, with exit status %d", s.ExitStatus())
				return
			}
			endedc <- nil
		})
	}
	for range kids.o.Width {
		if err := start(); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-endedc:
			if err == nil {
				err = start()
			}
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
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
