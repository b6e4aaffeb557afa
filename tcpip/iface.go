package tcpip

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
	"weir/wire"
)

// iface is an interface: a link with the stack's addresses on it.
type iface struct {
	// Immutable.
	s        *Stack
	name     string
	link     link.Link
	caps     link.Caps
	addrs    []netip.Prefix
	readers  []*reader
	loopback bool // it is the loopback interface
	tcp      tcp.Config

	ownAddrs atomic.Pointer[addresses] // the addresses of addrs in use now (claims.go)
	// neigh.Changes: when it changes, connections look their hardware address up again
	neighChanges atomic.Uint32
	// claims -> awaitClaims: one result for each address; its capacity is their number; never
	// closed
	claimResults chan claimResult

	mu                sync.Mutex
	neigh             neigh.Table
	claims            neigh.Claims
	pendingConflicts  []Conflict // not reported yet, at most maxPendingConflicts
	unreachableFrames [][]byte   // frames whose neighbour did not answer; at most maxUnreachable
}

func newIface(s *Stack, name string, l link.Link, addrs []netip.Prefix) *iface {
	i := &iface{s: s, name: name, link: l, caps: l.Caps(), addrs: addrs, loopback: name == "lo"}
	i.tcp = s.cfg.TCP
	i.tcp.MSS = i.caps.MTU - wire.IPv4Header - wire.TCPHeader
	i.tcp.Superframe = max(0, i.caps.Superframe-wire.IPv4Header-wire.TCPHeaderLargest)
	i.tcp.Memory = &s.budget
	keepAliveDefaults(&i.tcp)
	i.tcp = i.tcp.WithDefaults()
	for q := range i.caps.Queues {
		i.readers = append(i.readers, &reader{s: s, iface: i, queue: l.Queue(q)})
	}
	i.startClaims()
	return i
}

// readerFor returns the reader for what is sent to a port or an address, which is the key. Answers
// then come by the same queue: a multi-queue device delivers a flow's frames to the queue that last
// sent a frame of the flow. A connection that a client opens stays with the queue of its SYN.
func (i *iface) readerFor(key uint32) *reader {
	// Fibonacci hashing spreads adjacent keys
	return i.readers[(key*2654435761>>16)%uint32(len(i.readers))]
}

// resolve looks a neighbour's hardware address up. If it is not known yet, ok is false and a copy
// of the frame waits for it. own says that the neighbour is a router or that this host sends on its
// own account: such requests have priority over answers to unknown hosts.
func (i *iface) resolve(l *reader, hop netip.Addr, own bool, p *link.Parts) (mac wire.MAC, ok bool) {
	if i.loopback {
		return i.caps.MAC, true
	}
	now := neigh.Time(i.s.now())
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, ok := i.neigh.Lookup(hop); ok {
		if i.neigh.MarkUsed(n, now) {
			// have the neighbour probed: without answers, a sender of datagrams would never notice
			// its absence
			l.requestCheck()
		}
		return n.MAC, true
	}
	var waiting []byte
	if p.SegmentSize == 0 { // a superframe is too large to keep: TCP retransmits it
		waiting = completeFrame(p)
	}
	wait := i.neigh.Queue
	if own {
		wait = i.neigh.QueueOwn
	}
	wait(hop, waiting, now, neighActions{l})
	l.requestCheck() // schedule the next ARP request
	return wire.MAC{}, false
}

// completeFrame returns a copy of the frame with its checksum, as it is sent on a wire.
func completeFrame(p *link.Parts) []byte {
	b := p.AppendTo(nil)
	if p.ChecksumPartial {
		at := p.ChecksumStart + p.ChecksumOffset
		sum := wire.Sum{}.Add(b[p.ChecksumStart:]).Checksum()
		b[at], b[at+1] = byte(sum>>8), byte(sum)
	}
	return b
}
