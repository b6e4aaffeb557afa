package tcpip

import (
	"errors"
	"sync/atomic"
	"time"

	"weir/flow"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Run is how packets are carried from the links to the connections.
type Run string

// The ways. They are those of package flow.
const (
	RunChain   Run = "chain"   // by calls, in the goroutine that reads the link's queue
	RunNetwork Run = "network" // by packet dealers: a goroutine for each layer, joined by queues
)

// dealer is a layer, and those that it deals packets to.
type dealer struct {
	layer layer
	name  string
	do    func(*packet) layer
	to    []layer
	full  Drop // of what finds no room before it, in a network
}

// dealers are the paper's.
var dealers = [...]dealer{
	{ethernetLayer, "ethernet", (*packet).ethernet, []layer{arpLayer, ipv4Layer}, DropEthernetQueue},
	{arpLayer, "arp", (*packet).arp, nil, DropARPQueue},
	{ipv4Layer, "ipv4", (*packet).ipv4, []layer{fragmentsLayer, icmpLayer, udpLayer, tcpLayer}, DropIPv4Queue},
	{fragmentsLayer, "fragments", (*packet).fragments, []layer{icmpLayer, udpLayer, tcpLayer}, DropFragmentsQueue},
	{icmpLayer, "icmp", (*packet).icmp, nil, DropICMPQueue},
	{udpLayer, "udp", (*packet).udp, nil, DropUDPQueue},
	{tcpLayer, "tcp", (*packet).tcp, nil, DropTCPQueue},
}

const (
	// batches that may wait in an edge: one of each of so many queues of links
	edgeRoom     = 64
	networkDrain = time.Second // how long what is under way may take when the stack closes
)

// dealerOf is the dealer of a layer: they stand in the order of layers.
func dealerOf(l layer) *dealer { return &dealers[l-ethernetLayer] }

// edges are those between dealers. By calls nothing waits in them; in a network, none waits when it
// is full: the dealers write acknowledgments to the loopback, whose reader is before them.
func edges(run Run) []flow.Edge {
	to := func(e flow.Edge) flow.Edge {
		if run == RunNetwork {
			e.Cap, e.WhenFull = edgeRoom, flow.Refuse
		}
		return e
	}
	all := []flow.Edge{to(flow.Edge{To: dealers[0].name})}
	for _, d := range dealers {
		for _, l := range d.to {
			all = append(all, to(flow.Edge{From: d.name, Port: int(l), To: dealerOf(l).name}))
		}
	}
	return all
}

// network carries the packets of all links of a stack, by either way.
type network struct {
	s   *Stack
	net *flow.Net[*packet]
}

// newNetwork starts the dealers, and has the lanes give them what they read.
func newNetwork(s *Stack) (*network, error) {
	n := &network{s: s}
	var stages []flow.Stage[*packet]
	for i := range dealers {
		stages = append(stages, flow.Stage[*packet]{Name: dealers[i].name, Do: n.stage(&dealers[i])})
	}
	var err error
	if n.net, err = flow.New(stages, edges(s.cfg.Run), n.lost, networkDrain); err != nil {
		return nil, err
	}
	for _, i := range s.ifaces {
		for _, l := range i.lanes {
			l.intake = n.intake(l)
		}
	}
	return n, n.net.Start(flow.Way(s.cfg.Run))
}

// stage is what a dealer does with a batch, or what has been dealt of one: all of it is one lane's.
func (n *network) stage(d *dealer) func([]*packet, *flow.Out[*packet]) {
	return func(in []*packet, out *flow.Out[*packet]) {
		l, now, ended, same := in[0].lane, in[0].now, 0, true
		for _, p := range in {
			if p.next = d.do(p); p.next == done {
				ended++
			}
			same = same && p.next == in[0].next
		}
		if d.layer == tcpLayer && n.s.cfg.Run == RunNetwork { // by calls the reader does
			l.woke = l.answer(now, false) || l.woke
		}
		switch {
		case ended == len(in):
		case same:
			out.Pass(int(in[0].next), in)
		default:
			deal(in, out)
		}
		l.intake.end(ended)
	}
}

// deal sends packets where they go.
func deal(in []*packet, out *flow.Out[*packet]) {
	for _, p := range in {
		if p.next != done {
			out.Send(int(p.next), p)
		}
	}
}

// lost counts what a full queue has refused. A dealer that panics holds locks that nobody else
// would ever get: the process ends, as it would without flow.
func (n *network) lost(p *packet, why error) {
	if p, ok := errors.AsType[*flow.PanicError](why); ok {
		panic(p)
	}
	n.s.drops.add(dealerOf(p.next).full)
	p.lane.intake.end(1)
}

// intake is where a lane's packets enter. It has one batch under way: its frames are the queue's
// again at the next Read. With several, the frames would have to be copied, or buffers to be
// exchanged, and layers would work on one connection's bytes by several processors:
// docs/adr/0010-packet-dealers.md has what that costs. Batches of several queues, and the packets
// of a batch that go different ways, are dealt with side by side.
type intake struct {
	n       *network
	lane    *lane
	packets [batch]packet
	batch   [batch]*packet // they, for Put
	under   atomic.Int64   // packets of the batch that are under way
	// the last dealer of a batch -> take: it is through; capacity 1, never closed. Nil by calls:
	// Put returns when it is
	through chan struct{}
}

func (n *network) intake(l *lane) *intake {
	i := &intake{n: n, lane: l}
	if n.s.cfg.Run == RunNetwork {
		i.through = make(chan struct{}, 1)
	}
	for j := range i.packets {
		i.batch[j] = &i.packets[j]
	}
	return i
}

// take carries what was read through the network. What finds no room is dropped, and counted. No
// dealer waits for who reads, so this wait ends.
func (i *intake) take(frames []link.Frame, now tcp.Time) {
	if len(frames) == 0 {
		return
	}
	for j := range frames {
		i.packets[j] = packet{lane: i.lane, frame: &frames[j], now: now, next: ethernetLayer}
	}
	all := i.batch[:len(frames)]
	i.under.Store(int64(len(all)))
	for _, p := range all[i.n.net.Put(all):] {
		i.n.lost(p, flow.ErrFull)
	}
	if i.through != nil {
		<-i.through
	}
}

// end says that packets have come to their end.
func (i *intake) end(packets int) {
	if i.through != nil && packets > 0 && i.under.Add(int64(-packets)) == 0 {
		i.through <- struct{}{}
	}
}

// Topology is the network with what has passed through it, for package flow/draw.
func (s *Stack) Topology() flow.Topology { return s.network.net.Snapshot() }
