package tcpip

import (
	"errors"
	"time"

	"weir/flow"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Run is how packets are carried from the links to the connections.
type Run string

// The ways.
const (
	RunChain   Run = "chain"   // by calls, in the goroutine that reads the link's queue
	RunNetwork Run = "network" // by packet dealers: a goroutine for each layer, joined by queues
)

// dealer is a layer with the goroutine that does its work, and the layers that it deals packets to.
type dealer struct {
	layer layer
	name  string
	do    func(*packet) layer
	to    []room
	full  Drop // of what finds no room before it
}

// room is the way to a layer: how many batches may wait there.
type room struct {
	layer   layer
	batches int
}

// dealers are the paper's. A batch is what one read has given, or of that what goes to one layer: 1 to 32 packets. While the tcp dealer sends a window, as many
// acknowledgments may come for it, one by one.
var dealers = [...]dealer{
	{ethernetLayer, "ethernet", (*packet).ethernet, []room{{arpLayer, 64}, {ipv4Layer, 1024}}, DropEthernetQueue},
	{arpLayer, "arp", (*packet).arp, nil, DropARPQueue},
	{ipv4Layer, "ipv4", (*packet).ipv4, []room{{fragmentsLayer, 256}, {icmpLayer, 256}, {udpLayer, 256}, {tcpLayer, 1024}}, DropIPv4Queue},
	{fragmentsLayer, "fragments", (*packet).fragments, []room{{icmpLayer, 64}, {udpLayer, 64}, {tcpLayer, 64}}, DropFragmentsQueue},
	{icmpLayer, "icmp", (*packet).icmp, nil, DropICMPQueue},
	{udpLayer, "udp", (*packet).udp, nil, DropUDPQueue},
	{tcpLayer, "tcp", (*packet).tcp, nil, DropTCPQueue},
}

const (
	entryRoom    = 1024        // batches before the first dealer
	networkDrain = time.Second // how long what is under way may take when the stack closes
)

// dealerOf is the dealer of a layer: they stand in the order of layers.
func dealerOf(l layer) *dealer { return &dealers[l-ethernetLayer] }

// edges are those of the network. None waits when it is full: the tcp dealer's acknowledgments may come back by the loopback, and it would wait for itself.
func edges() []flow.Edge {
	all := []flow.Edge{{To: dealers[0].name, Cap: entryRoom, Full: flow.Refuse}}
	for _, d := range dealers {
		for _, r := range d.to {
			all = append(all, flow.Edge{From: d.name, Port: int(r.layer), To: dealerOf(r.layer).name, Cap: r.batches, Full: flow.Refuse})
		}
	}
	return all
}

// network carries the packets of all links of a stack.
type network struct {
	s     *Stack
	net   *flow.Net[*kept]
	store store
}

// newNetwork starts the dealers, and has the lanes give it what they read.
func newNetwork(s *Stack) (*network, error) {
	n := &network{s: s}
	var stages []flow.Stage[*kept]
	for i := range dealers {
		stages = append(stages, flow.Stage[*kept]{Name: dealers[i].name, Width: 1, Do: n.stage(&dealers[i])})
	}
	var err error
	if n.net, err = flow.New(stages, edges(), n.lost, networkDrain); err != nil {
		return nil, err
	}
	for _, i := range s.ifaces {
		for _, l := range i.lanes {
			l.network = &intake{n: n, lane: l}
		}
	}
	return n, n.net.Start(flow.Network)
}

// stage is what a dealer does with a batch. The layer's work is that of the chain.
func (n *network) stage(d *dealer) func([]*kept, *flow.Out[*kept]) {
	var spent []*kept // the dealer's goroutine's
	return func(in []*kept, out *flow.Out[*kept]) {
		now := n.s.now()
		spent = spent[:0]
		for _, k := range in {
			k.now = now
			if k.to = d.do(&k.packet); k.to != done {
				out.Send(int(k.to), k)
			} else {
				spent = append(spent, k)
			}
		}
		if d.layer == tcpLayer {
			for _, k := range in {
				k.lane.answer(now) // once for each lane: the second time nobody has to
			}
		}
		n.store.give(spent)
	}
}

// lost counts what a full queue has refused. A dealer that panics holds locks that nobody else would ever get: the process ends, as it does by calls.
func (n *network) lost(k *kept, why error) {
	if p, ok := errors.AsType[*flow.PanicError](why); ok {
		panic(p)
	}
	n.s.drops.add(dealerOf(k.to).full)
	n.store.give([]*kept{k})
}

// intake is where a lane's packets enter the network.
type intake struct {
	n     *network
	lane  *lane
	batch [batch]*kept // the reader's
}

// take carries what was read into the network. What finds no room is dropped, and counted.
func (i *intake) take(frames []link.Frame, now tcp.Time) {
	taken := i.batch[:i.n.store.take(i.batch[:], frames)]
	for range len(frames) - len(taken) {
		i.n.s.drops.add(DropMemory)
	}
	for j, k := range taken {
		k.packet = packet{lane: i.lane, frame: &k.frame, now: now}
		k.to = ethernetLayer
		k.keep(j, &frames[j], i.lane.q)
	}
	for _, k := range taken[i.n.net.Put(taken):] {
		i.n.lost(k, flow.ErrFull)
	}
}

// Topology is the network with what has passed through it, for package flow/draw. Of a stack that carries packets by calls it has no counts.
func (s *Stack) Topology() flow.Topology {
	if s.network != nil {
		return s.network.net.Snapshot()
	}
	t := flow.Topology{Way: flow.Chain}
	for _, d := range dealers {
		t.Stages = append(t.Stages, flow.StageReading{Name: d.name})
	}
	for _, e := range edges() {
		e.Cap, e.Full = 0, flow.Wait
		t.Edges = append(t.Edges, flow.EdgeReading{Edge: e})
	}
	return t
}
