package nat

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/serve"
	"weir/tcpip"
)

// sockets passes connections and datagrams on by sockets of the kernel, without a goroutine for
// each. The zero value does not: goroutines do.
type sockets struct {
	poller *poller
	relays *tcpip.Server // of the sessions that pass connections on
	burst  *burst        // what guests send by UDP, if the reader of the link watches the poller
}

// startSockets has sockets pass on what comes, if that is possible: connections onward are not made
// by a function of the caller's, and the stack has one reader.
func (n *NAT) startSockets() error {
	if n.ownDial || len(n.config.Stack.Interfaces) > 0 || n.config.Link.Caps().Queues != 1 {
		return nil
	}
	p, err := newPoller(n.pollSockets)
	if err != nil {
		return err
	}
	n.sockets = sockets{poller: p, relays: n.stack.NewServer(serve.Options{})}
	return nil
}

// pollSockets has the sockets onward be watched: by the goroutine that reads the link, or by
// another one.
func (n *NAT) pollSockets() {
	p, b := n.poller, new(burst)
	n.burst = b
	if !n.stack.WatchDescriptor(p.epollFD, func() { b.flush(); p.poll() }) {
		n.burst = nil
		n.tasks.Go(func() { // until Close
			if err := p.wait(n.ctx); err != nil {
				n.config.Log.Error("nat: waiting for the sockets onward has failed, and nothing passes by them: start the network again", "err", err)
			}
		})
	}
	n.tasks.Go(n.sweepFlows) // until Close
}

// forwarder returns the functions for what comes from the link.
func (n *NAT) forwarder() tcpip.Forwarder {
	if n.poller == nil {
		return n.goroutineForwarder()
	}
	return tcpip.Forwarder{TCP: n.forwardBySocket, UDP: n.forwardDatagramsBySocket, Echo: n.forwardEcho}
}

// closeSockets closes what is left, after the stack and all goroutines have ended.
func (n *NAT) closeSockets() {
	if n.poller != nil {
		n.poller.close()
	}
}

// relayIn joins a connection from outside to one to a host, and reports whether it has taken both.
func (n *NAT) relayIn(near *tcpip.Conn, far net.Conn, client netip.Addr) bool {
	c, ok := far.(*net.TCPConn)
	if n.poller == nil || !ok {
		return false
	}
	fd, err := takeDescriptor(c)
	if err != nil {
		return false
	}
	f := &relay{n: n, client: client, fd: fd}
	f.can.Store(canBoth)
	if err := f.watch(); err != nil {
		abort(near)
		return true
	}
	if err := near.Serve(n.relays, f.open); err != nil {
		f.Close(syscall.ECONNRESET)
		abort(near)
	}
	return true
}

// takeDescriptor closes c and returns its socket.
func takeDescriptor(c *net.TCPConn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(own uintptr) {
		if fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			err = os.NewSyscallError("fcntl", err)
		}
	})
	if err = errors.Join(controlErr, err); err == nil {
		c.Close() //nolint:errcheck // the socket has another descriptor
	}
	return fd, err
}
