//go:build unix

package serve

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// runProcesses runs Process.
//
// Ownership: the parent accepts, starts a child for each connection and closes its own copy of the
// connection. The child serves it in a goroutine and exits. At o.Workers children, or when
// descriptors run out, accepting pauses and connections wait in the kernel's accept queue.
//
// Stop: the parent stops accepting and then stops the children (childProcesses).
//
// The price: Go cannot fork, so each connection starts the program again. That costs some
// milliseconds of CPU time and the memory of a Go runtime; BenchmarkChildStart measures both.
func runProcesses(ctx context.Context, l net.Listener, w serviceForm, o Options) error {
	if o.IsChild {
		return serveInherited(ctx, w, o)
	}
	setDefault(&o.Workers, 1024)
	kids, err := newChildProcesses(o)
	if err != nil {
		l.Close()
		return err
	}
	p := &processServer{blockingServer: newBlockingServer(l, w, o), children: kids, slotc: make(chan struct{}, o.Workers)}
	err = p.run(ctx, p.accept)
	return errors.Join(err, kids.stop())
}

// processServer gives connections to child processes. Its blockingServer has one goroutine, which
// accepts.
type processServer struct {
	*blockingServer
	children *childProcesses
	// Full when Workers children run. The acceptor sends; the callback for a child's exit receives.
	slotc chan struct{}
}

func (p *processServer) accept() error {
	n := p.options.Meter.newShard()
	defer p.options.Meter.retire(n)
	for p.acquireSlot(n) {
		conn, err := p.blockingServer.accept(n)
		if conn == nil {
			return err
		}
		n.accepted.add(1)
		if err := p.startChild(conn); err != nil {
			return err
		}
		n.closed.add(1)
	}
	return nil
}

// acquireSlot waits until one more child may be started. It reports whether one may: not at a stop.
func (p *processServer) acquireSlot(n *counterShard) bool {
	select {
	case p.slotc <- struct{}{}:
		return true
	default:
	}
	n.acceptPauses.add(1)
	select {
	case p.slotc <- struct{}{}:
		return true
	case <-p.stopc:
		return false
	}
}

// startChild gives conn to a child of its own.
func (p *processServer) startChild(conn net.Conn) error {
	defer conn.Close()
	err := p.children.start(conn.(syscall.Conn), func(syscall.WaitStatus) { <-p.slotc })
	switch {
	case err == nil || errors.Is(err, ErrStopped):
		return nil
	case exhausted(err) || errors.Is(err, syscall.EAGAIN):
		<-p.slotc // this connection is closed: there is no process or descriptor for it
		return nil
	}
	return err
}

// serveInherited is the child's part: one connection.
func serveInherited(ctx context.Context, w serviceForm, o Options) error {
	file, ctx, release, err := inherited(ctx, o)
	if err != nil {
		return err
	}
	defer release()
	conn, err := connOf(file)
	if err != nil {
		return err
	}
	c := newBlockingServer(noListener{}, w, o)
	return c.run(ctx, func() error {
		servedc := make(chan struct{}) // closed by the goroutine, also at a Goexit
		c.serving.Go(func() {
			defer close(servedc)
			c.serve(conn, nil)
		})
		<-servedc
		return nil
	})
}

// noListener is the listener of a child that already has its connection.
type noListener struct{}

func (noListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (noListener) Close() error              { return nil }
func (noListener) Addr() net.Addr            { return nil }
