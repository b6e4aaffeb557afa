package serve

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// runProcesses runs Process.
//
// Ownership: the parent accepts and starts a child for each connection, then forgets the
// connection; the child serves it in a goroutine and exits. At o.Width children, or when
// descriptors run out, accepting pauses and connections wait in the kernel's backlog.
//
// Stop: the parent stops accepting and then stops the children: see there.
//
// The price: Go cannot fork, so each connection starts the program again, which costs the CPU time
// of some milliseconds and the memory of a Go runtime. BenchmarkChildStart tells both.
func runProcesses(ctx context.Context, l net.Listener, w work, o Options) error {
	if o.Inherited {
		return serveInherited(ctx, w, o)
	}
	setDefault(&o.Width, 1024)
	kids, err := newChildren(o)
	if err != nil {
		l.Close()
		return err
	}
	p := &parent{crowd: newCrowd(l, w, o), kids: kids, placec: make(chan struct{}, o.Width)}
	err = p.run(ctx, p.accept)
	return errors.Join(err, kids.stop())
}

// parent hands connections to children. Its crowd has one member, who accepts.
type parent struct {
	*crowd
	kids *children
	// full when Width children are there; the acceptor puts, who waits for a child takes
	placec chan struct{}
}

func (p *parent) accept() error {
	n := p.o.Meter.lane()
	defer p.o.Meter.retire(n)
	for p.place(n) {
		conn, err := p.crowd.accept(n)
		if conn == nil {
			return err
		}
		n.accepted.add(1)
		if err := p.hand(conn); err != nil {
			return err
		}
		n.closed.add(1)
	}
	return nil
}

// place waits until one more child may be started, and reports false on a stop.
func (p *parent) place(n *lane) bool {
	select {
	case p.placec <- struct{}{}:
		return true
	default:
	}
	n.pauses.add(1)
	select {
	case p.placec <- struct{}{}:
		return true
	case <-p.stopc:
		return false
	}
}

// hand gives conn to a child of its own.
func (p *parent) hand(conn net.Conn) error {
	defer conn.Close()
	err := p.kids.start(conn.(syscall.Conn), func(syscall.WaitStatus) { <-p.placec })
	switch {
	case err == nil || errors.Is(err, ErrStopped):
		return nil
	case exhausted(err) || errors.Is(err, syscall.EAGAIN):
		<-p.placec // this peer is turned away: there is no process or descriptor for it
		return nil
	}
	return err
}

// serveInherited is the child's part: one connection.
func serveInherited(ctx context.Context, w work, o Options) error {
	file, ctx, release, err := inherited(ctx)
	if err != nil {
		return err
	}
	defer release()
	conn, err := connOf(file)
	if err != nil {
		return err
	}
	c := newCrowd(nobody{}, w, o)
	return c.run(ctx, func() error {
		servedc := make(chan struct{}) // closed by the goroutine, however it ends
		c.members.Go(func() {
			defer close(servedc)
			c.serve(conn, nil)
		})
		<-servedc
		return nil
	})
}

// nobody is the listener of a child that has its connection.
type nobody struct{}

func (nobody) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (nobody) Close() error              { return nil }
func (nobody) Addr() net.Addr            { return nil }
