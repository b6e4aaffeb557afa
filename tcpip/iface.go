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

// iface is a link with the stack's addresses on it.
type iface struct {
	// Immutable.
	s     *Stack
	name  string
	link  link.Link
	caps  link.Caps
	addrs []netip.Prefix
	lanes []*lane
	local bool // the loopback: everybody on it is the stack
	tcp   tcp.Config

	own atomic.Pointer[addresses] // those of addrs that are the stack's now (claims.go)
	// neigh.Changes: what connections know of neighbours may be wrong when it rises
	changes atomic.Uint32
	// claims -> New: of each address once; its capacity is their number; never closed
	outcome chan claimed

	mu        sync.Mutex
	neigh     neigh.Table
	claims    neigh.Claims
	conflicts []Conflict // to be told
	unreached [][]byte   // frames whose neighbour did not answer; at most unreachedMost
}

func newIface(s *Stack, name string, l link.Link, addrs []netip.Prefix) *iface {
	i := &iface{s: s, name: name, link: l, caps: l.Caps(), addrs: addrs, local: name == "lo"}
	i.tcp = s.cfg.TCP
	i.tcp.MSS = i.caps.MTU - wire.IPv4Header - wire.TCPHeader
	i.tcp.Superframe = max(0, i.caps.Superframe-wire.IPv4Header-wire.TCPHeaderLargest)
	i.tcp.Memory = &s.budget
	keepAlive(&i.tcp)
	i.tcp = i.tcp.WithDefaults()
	for q := range i.caps.Queues {
		i.lanes = append(i.lanes, &lane{s: s, iface: i, q: l.Queue(q)})
	}
	i.watch()
	return i
}

// lane is the one for what goes to a place, a port or an address. What comes from there then comes
// to the same: a device of several queues gives a flow's frames to the queue that a frame of the
// flow was last written to. Connections that others open stay where their first frame has come.
func (i *iface) lane(place uint32) *lane {
	// Fibonacci's hash: places side by side are spread
	return i.lanes[(place*2654435761>>16)%uint32(len(i.lanes))]
}

// resolve finds a neighbour's hardware address. When it is not known yet, a copy of the frame waits
// for it, and ok is false. With own, the neighbour is a gateway or one that this host dials.
func (i *iface) resolve(l *lane, hop netip.Addr, own bool, p *link.Parts) (mac wire.MAC, ok bool) {
	if i.local {
		return i.caps.MAC, true
	}
	now := neigh.Time(i.s.now())
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, ok := i.neigh.Lookup(hop, now); ok {
		if i.neigh.Used(n, now) {
			// who sends datagrams and hears nothing would not find out that nobody is there any
			// more
			l.look()
		}
		return n.MAC, true
	}
	var waits []byte
	if p.Size == 0 { // a superframe is more than a link takes: TCP sends it again
		waits = completed(p)
	}
	wait := i.neigh.Wait
	if own {
		wait = i.neigh.WaitOwn
	}
	wait(hop, waits, now, actions{l})
	l.look() // when to ask again
	return wire.MAC{}, false
}

// completed is a frame as it is on a wire, without what a device would do: who waits for a
// neighbour is small.
func completed(p *link.Parts) []byte {
	b := p.AppendTo(nil)
	if p.Partial {
		at := p.Start + p.Offset
		sum := wire.Sum{}.Add(b[p.Start:]).Checksum()
		b[at], b[at+1] = byte(sum>>8), byte(sum)
	}
	return b
}
