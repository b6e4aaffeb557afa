package tcpip

import (
	"cmp"
	"net/netip"
	"slices"
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
	index    int // in Stack.ifaces
	link     link.Link
	caps     link.Caps
	metric   int  // added to the metric of its routes
	autoconf bool // get addresses and routes from routers
	temps    bool // make temporary addresses too
	// the configured addresses, replaced as a whole under Stack.configMu
	addrs    atomic.Pointer[[]netip.Prefix]
	readers  []*reader
	loopback bool // it is the loopback interface
	// of new connections: IPv4, IPv6
	tcp4, tcp6 atomic.Pointer[tcp.Config]
	mtu        atomic.Int32 // the largest packet that is sent, in bytes; at most caps.MTU
	// length of the link's header before each packet: Ethernet's, or 0
	frameHeader int
	ipv6        atomic.Bool // it has, or had, IPv6 addresses
	nonce       [6]byte     // of its probes for duplicate addresses
	auto        autoconf
	groups      groupTable
	mtu6        atomic.Int32  // MTU that routers have announced; 0: none
	hopLimit    atomic.Uint32 // hop limit that routers have announced; 0: none

	// the oldest first, at most maxRedirects; replaced as a whole under mu. Nil: none
	redirects atomic.Pointer[[]redirect]

	ownAddrs atomic.Pointer[addresses] // the addresses of addrs in use now (claims.go)
	// neigh.Changes: when it changes, connections look their hardware address up again
	neighChanges atomic.Uint32
	// claims -> awaitClaims: one result for each address; its capacity is their number; never
	// closed
	claimResults chan claimResult

	mu sync.Mutex
	// claims -> ClaimAddr: one result each; capacity 1, closed if the address is removed
	awaited           map[netip.Addr]chan claimResult
	neigh             neigh.Table
	claims            neigh.Claims
	claimed           []netip.Addr // the addresses of claims that are in use
	deprecated        []netip.Addr // addresses that new connections should not have (RFC 4862)
	temporary         []netip.Addr // addresses that new connections should rather have (RFC 8981)
	linkLocal         linkLocal
	pendingConflicts  []Conflict    // not reported yet, at most maxPendingConflicts
	unreachableFrames []unreachable // at most maxUnreachable
}

func newIface(s *Stack, index int, c Interface) *iface {
	i := &iface{s: s, name: c.Name, index: index, link: c.Link, caps: c.Link.Caps(), metric: c.Metric, autoconf: c.Autoconf, temps: c.Temporary, nonce: newNonce(), loopback: c.Name == "lo"}
	i.frameHeader = i.caps.Medium.HeaderLen()
	i.addrs.Store(new([]netip.Prefix))
	i.addConfigured(c.Addrs)
	i.setMTU(min(cmp.Or(c.MTU, i.caps.MTU), i.caps.MTU))
	for q := range i.caps.Queues {
		i.readers = append(i.readers, &reader{s: s, iface: i, queue: c.Link.Queue(q), pushBack: newPushBack(c.Link.Queue(q))})
	}
	i.startGroups()
	i.startAutoconf()
	i.startClaims()
	return i
}

// configured returns the configured addresses, without zones.
func (i *iface) configured() []netip.Prefix { return *i.addrs.Load() }

// isConfigured reports whether an address is configured on the interface.
func (i *iface) isConfigured(a netip.Addr) bool {
	return slices.ContainsFunc(i.configured(), func(p netip.Prefix) bool { return p.Addr() == a.WithZone("") })
}

// addConfigured adds addresses to the configured ones. With an IPv6 address, the interface has a
// link-local one too (RFC 4291, section 2.8). It returns what was added.
func (i *iface) addConfigured(addrs []netip.Prefix) (added []netip.Prefix) {
	before := i.configured()
	for _, a := range addrs {
		added = append(added, netip.PrefixFrom(a.Addr().WithZone(""), a.Bits()))
	}
	all := append(slices.Clone(before), added...)
	i.addrs.Store(&all)
	if slices.ContainsFunc(all, func(a netip.Prefix) bool { return a.Addr().Is6() }) {
		i.ipv6.Store(true)
		if !i.loopback {
			added = append(added, i.ensureLinkLocal()...)
		}
	}
	return added
}

// setMTU sets the largest packet that is sent. Connections that exist are not changed.
func (i *iface) setMTU(mtu int) {
	i.mtu.Store(int32(mtu))
	i.tcp4.Store(i.newTCPConfig(mtu, wire.IPv4Header))
	i.tcp6.Store(i.newTCPConfig(mtu, wire.IPv6Header))
}

// newTCPConfig returns the configuration of connections with an MTU and an IP header of that
// length.
func (i *iface) newTCPConfig(mtu, ipHeader int) *tcp.Config {
	c := i.s.cfg.TCP
	c.MSS = mtu - ipHeader - wire.TCPHeader
	c.Superframe = max(0, i.caps.Superframe-ipHeader-wire.TCPHeaderLargest)
	c.Memory, c.HeavyMemory = &i.s.budget, heavyBudget{&i.s.budget}
	keepAliveDefaults(&c)
	c = c.WithDefaults()
	return &c
}

// tcpConfig returns the configuration of connections to an address over the interface.
func (i *iface) tcpConfig(remote netip.Addr) *tcp.Config {
	if remote.Is4() {
		return i.tcp4.Load()
	}
	return i.tcp6.Load()
}

// readerFor returns the reader for what is sent to a port or an address, which is the key. Answers
// then come by the same queue: a multi-queue device delivers a flow's frames to the queue that last
// sent a frame of the flow. A connection that a client opens stays with the queue of its SYN.
func (i *iface) readerFor(key uint32) *reader {
	// Fibonacci hashing spreads adjacent keys
	return i.readers[(key*2654435761>>16)%uint32(len(i.readers))]
}

// appendFrameHeader appends the link's header for a packet to a neighbour.
func (i *iface) appendFrameHeader(b []byte, dst wire.MAC, t wire.EtherType) []byte {
	if i.frameHeader == 0 {
		return b
	}
	return wire.AppendEthernet(b, dst, i.caps.MAC, t)
}

// setDst sets the destination of a frame with that header.
func (i *iface) setDst(frame []byte, dst wire.MAC) {
	if i.frameHeader != 0 {
		copy(frame, dst[:])
	}
}

// resolvesNeighbours reports whether the link has hardware addresses to resolve.
func (i *iface) resolvesNeighbours() bool { return i.frameHeader != 0 && !i.loopback }

// resolve looks a neighbour's hardware address up. If it is not known yet, ok is false and a copy
// of the frame waits for it. own says that the neighbour is a router or that this host sends on its
// own account: such requests have priority over answers to unknown hosts.
func (i *iface) resolve(l *reader, hop netip.Addr, own bool, p *link.Parts) (mac wire.MAC, ok bool) {
	if !i.resolvesNeighbours() {
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
