package nat

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// socketFlow passes datagrams on by a socket. It has no goroutine: what the guest sends is passed
// on by the goroutine that reads the link, what the far end sends by the one that calls the poller.
type socketFlow struct {
	n      *NAT
	client netip.Addr
	fd     int
	near   *tcpip.UDPConn
	report func(error) // tells the guest that a datagram was refused

	passed     atomic.Int64 // datagrams in both directions
	sweptCount int64        // of passed at the last sweep; used by sweep

	mu    sync.Mutex // held while the socket is used or closed
	ended bool       // the socket is closed
	// datagrams are sent one by one
	noSegments bool
}

// forwardDatagramsBySocket opens a flow for a guest's datagram.
func (n *NAT) forwardDatagramsBySocket(r *tcpip.UDPRequest) {
	client := r.From().Addr()
	if !n.begin(client) {
		r.Drop()
		return
	}
	fd, err := n.connectSocket(unix.SOCK_DGRAM, r.To())
	if err != nil {
		n.end(client)
		r.Reject(err)
		return
	}
	f := &socketFlow{n: n, client: client, fd: fd, report: r.Report}
	if f.near, err = r.Accept(); err != nil {
		unix.Close(fd) //nolint:errcheck // it is
		n.end(client)
		return
	}
	if err := n.poller.add(fd, f, unix.EPOLLIN); err != nil {
		f.near.Close() //nolint:errcheck // it is
		unix.Close(fd) //nolint:errcheck // it is
		n.end(client)
		return
	}
	f.near.OnReceive(f.out)
}

// out passes on a datagram of the guest.
func (f *socketFlow) out(payload []byte, _ netip.AddrPort) {
	f.passed.Add(1)
	if b := f.n.burst; b != nil {
		b.add(f, payload)
		return
	}
	f.send(payload)
}

// send sends a datagram; it is lost if the socket is full. A refusal that the socket reports is
// that of an earlier datagram.
func (f *socketFlow) send(payload []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range 2 {
		if f.ended {
			return
		}
		_, err := unix.Write(f.fd, payload)
		if err == unix.EINTR {
			continue
		}
		if !isRefusal(err) {
			return
		}
		f.report(err)
	}
}

// sendSegments sends datagrams of a size as send does. It reports whether that is possible: the
// system may lack it, and a datagram may be too large for the path without fragments.
func (f *socketFlow) sendSegments(all []byte, size int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended || f.noSegments {
		return f.ended
	}
	errno := sendDatagrams(f.fd, all, size)
	if isRefusal(errno) {
		f.report(errno)
		errno = sendDatagrams(f.fd, all, size)
	}
	switch errno {
	case unix.EINVAL, unix.EMSGSIZE, unix.EIO, unix.EOPNOTSUPP:
		f.noSegments = true
	case unix.EINTR:
		return false
	}
	return !f.noSegments
}

// ready implements socket: it passes on what the far end has sent.
func (f *socketFlow) ready(uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	inbox := f.n.poller.inbox
	for range readsAtOnce / receivedAtOnce {
		if f.ended {
			return
		}
		n, errno := inbox.receive(f.fd)
		switch {
		case isRefusal(errno):
			f.report(errno)
			continue
		case errno != 0:
			return
		}
		f.passed.Add(int64(n))
		for i := range n {
			f.near.Write(inbox.datagram(i)) //nolint:errcheck // a datagram may be lost
		}
		if n < receivedAtOnce {
			return
		}
	}
}

// abandon implements socket.
func (f *socketFlow) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	f.near.Close() //nolint:errcheck // it is
	f.n.poller.remove(f.fd)
	f.n.end(f.client)
}

// sweepFlows ends flows by which nothing has passed since the last sweep, until Close.
func (n *NAT) sweepFlows() {
	ticker := time.NewTicker(udpIdle)
	defer ticker.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-ticker.C:
			n.poller.sweep()
		}
	}
}

// sweep ends idle flows.
func (p *poller) sweep() {
	for _, s := range p.all() {
		if f, ok := s.(*socketFlow); ok && f.isIdle() {
			f.abandon()
		}
	}
}

// isIdle reports whether nothing has passed since it was called last.
func (f *socketFlow) isIdle() bool {
	passed := f.passed.Load()
	idle := passed == f.sweptCount
	f.sweptCount = passed
	return idle
}
