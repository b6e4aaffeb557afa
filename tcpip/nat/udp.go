package nat

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/tcpip"
)

// forwardUDP opens a flow for a host's datagram.
func (n *NAT) forwardUDP(r *tcpip.UDPRequest) {
	n.forward("udp", r, func(far net.Conn) {
		near, err := r.Accept()
		if err == nil && n.keep(near) {
			defer n.close(near)
			f := &flow{near: near, far: far, refused: r.Report}
			f.run()
		}
	})
}

// flow is a pair of sockets whose datagrams are passed on.
type flow struct {
	near    *tcpip.UDPConn
	far     net.Conn
	refused func(error)  // reports to the host that a datagram was refused
	passed  atomic.Int64 // datagrams in both directions
}

// run passes datagrams on until none has passed for udpIdle, or a socket is closed.
func (f *flow) run() {
	var both sync.WaitGroup
	if write := rawWriter(f.far); write != nil {
		f.near.OnReceive(func(payload []byte, _ netip.AddrPort) { f.out(payload, write) })
	} else {
		both.Go(f.runOut) // until the sockets are closed
	}
	both.Go(f.in)                // until the sockets are closed
	ended := make(chan struct{}) // closed when both have ended
	go func() {                  // until then
		both.Wait()
		close(ended)
	}()
	for before := int64(-1); before != f.passed.Load(); {
		before = f.passed.Load()
		select {
		case <-ended:
			return
		case <-time.After(udpIdle):
		}
	}
	f.near.Close() //nolint:errcheck // it is
	f.far.Close()  //nolint:errcheck // it is
	<-ended
}

// out passes on a datagram of the host.
func (f *flow) out(payload []byte, write func([]byte) error) {
	f.passed.Add(1)
	f.report(write(payload))
}

// runOut passes on what the host sends, by a way onward that may wait.
func (f *flow) runOut() {
	defer f.far.Close()
	for {
		payload, _, err := f.near.TakeUDPAddrPort()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			f.out(payload, func(p []byte) error { _, err := f.far.Write(p); return err })
		}
	}
}

// in passes on what the far end sends.
func (f *flow) in() {
	defer f.near.Close()
	for read := newDatagramReader(f.far); ; {
		err := read(func(payload []byte) {
			f.passed.Add(1)
			f.near.Write(payload) //nolint:errcheck // a datagram may be lost
		})
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if f.report(err); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
	}
}

// report tells the host that a datagram was refused.
func (f *flow) report(err error) {
	if isRefusal(err) {
		f.refused(err)
	}
}

// isRefusal reports whether an error of a socket is to be reported to the host.
func isRefusal(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// largestDatagram is the largest payload of a datagram, in bytes.
const largestDatagram = 65535

// datagramBuffers holds buffers of datagrams in use.
var datagramBuffers = sync.Pool{New: func() any { b := make([]byte, largestDatagram); return &b }}

// newDatagramReader returns a function that waits for datagrams of a connection and gives them to
// use.
func newDatagramReader(c net.Conn) func(use func([]byte)) error {
	if read := rawReader(c); read != nil {
		return read
	}
	return func(use func([]byte)) error {
		b := datagramBuffers.Get().(*[]byte)
		defer datagramBuffers.Put(b)
		n, err := c.Read(*b)
		if err == nil {
			use((*b)[:n])
		}
		return err
	}
}
