package tcpip

import (
	"errors"
	"sync/atomic"
	"time"

	"weir/flow"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Run is the concurrency model of the receive path, from the links to the connections.
type Run string

// The concurrency models. They are those of package flow.
const (
	RunChain   Run = "chain"   // nested calls in the reader's goroutine
	RunNetwork Run = "network" // a goroutine for each layer, joined by queues
)

// layerStage is a layer as a stage of the net, with the layers that it passes packets to. Under
// RunNetwork it is a layer goroutine.
type layerStage struct {
	layer        layer
	name         string
	process      func(*packet) layer
	next         []layer
	dropWhenFull Drop // reason of packets that find the layer's queue full; RunNetwork only
}

// layerStages are the layers of the paper, in the order of the constants of layer.
var layerStages = [...]layerStage{
	{ethernetLayer, "ethernet", (*packet).ethernet, []layer{arpLayer, ipv4Layer, ipv6Layer}, DropEthernetQueue},
	{arpLayer, "arp", (*packet).arp, nil, DropARPQueue},
	{ipv4Layer, "ipv4", (*packet).ipv4, []layer{fragmentsLayer, icmpLayer, udpLayer, tcpLayer}, DropIPv4Queue},
	{ipv6Layer, "ipv6", (*packet).ipv6, []layer{fragmentsLayer, icmpLayer, udpLayer, tcpLayer}, DropIPv6Queue},
	{fragmentsLayer, "fragments", (*packet).reassemble, []layer{icmpLayer, udpLayer, tcpLayer}, DropFragmentsQueue},
	{icmpLayer, "icmp", (*packet).icmp, nil, DropICMPQueue},
	{udpLayer, "udp", (*packet).udp, nil, DropUDPQueue},
	{tcpLayer, "tcp", (*packet).tcp, nil, DropTCPQueue},
}

const (
	// capacity of an edge in batches: one of each of 64 link queues
	edgeCapacity = 64
	networkDrain = time.Second // how long Close waits for packets in the queues
)

// stageOf returns the stage of a layer.
func stageOf(l layer) *layerStage { return &layerStages[l-ethernetLayer] }

// edges returns the edges between layers. Under RunChain an edge is a call. Under RunNetwork it is
// a queue that drops when it is full. It must not block: layer goroutines write acknowledgments to
// the loopback, whose reader sends to them.
func edges(run Run) []flow.Edge {
	to := func(e flow.Edge) flow.Edge {
		if run == RunNetwork {
			e.Cap, e.WhenFull = edgeCapacity, flow.Refuse
		}
		return e
	}
	all := []flow.Edge{to(flow.Edge{To: layerStages[0].name})}
	for _, d := range layerStages {
		for _, l := range d.next {
			all = append(all, to(flow.Edge{From: d.name, Port: int(l), To: stageOf(l).name}))
		}
	}
	return all
}

// packetNet is the net of layers that the packets of all links pass through.
type packetNet struct {
	s   *Stack
	net *flow.Net[*packet]
}

// newPacketNet starts the net and gives each reader a feeder into it.
func newPacketNet(s *Stack) (*packetNet, error) {
	n := &packetNet{s: s}
	var stages []flow.Stage[*packet]
	for i := range layerStages {
		stages = append(stages, flow.Stage[*packet]{Name: layerStages[i].name, Do: n.stage(&layerStages[i])})
	}
	var err error
	if n.net, err = flow.New(stages, edges(s.cfg.Run), n.countRefused, networkDrain); err != nil {
		return nil, err
	}
	for _, i := range s.ifaces {
		for _, l := range i.readers {
			l.feeder = n.newFeeder(l)
		}
	}
	return n, n.net.Start(flow.Way(s.cfg.Run))
}

// stage returns the function that processes a batch, or the part of one that reaches this layer.
// All packets of a call come from one reader.
func (n *packetNet) stage(d *layerStage) func([]*packet, *flow.Out[*packet]) {
	return func(in []*packet, out *flow.Out[*packet]) {
		l, now, ended, same := in[0].reader, in[0].now, 0, true
		for _, p := range in {
			if p.nextLayer = d.process(p); p.nextLayer == consumed {
				ended++
			}
			same = same && p.nextLayer == in[0].nextLayer
		}
		// under RunChain, the reader does so
		if d.layer == tcpLayer && n.s.cfg.Run == RunNetwork {
			l.wokeApp = l.answerBatch(now, false) || l.wokeApp
		}
		switch {
		case ended == len(in):
		case same:
			out.Pass(int(in[0].nextLayer), in)
		default:
			sendEach(in, out)
		}
		l.feeder.finishPackets(ended)
	}
}

// sendEach sends each packet to its next layer.
func sendEach(in []*packet, out *flow.Out[*packet]) {
	for _, p := range in {
		if p.nextLayer != consumed {
			out.Send(int(p.nextLayer), p)
		}
	}
}

// countRefused counts a packet that a full queue refused. A panic of a layer is passed on and ends
// the process, because locks may be held.
func (n *packetNet) countRefused(p *packet, why error) {
	if p, ok := errors.AsType[*flow.PanicError](why); ok {
		panic(p)
	}
	n.s.drops.add(stageOf(p.nextLayer).dropWhenFull)
	p.reader.feeder.finishPackets(1)
}

// batchFeeder feeds a reader's packets into the net, one batch at a time: the queue reuses its
// frames at the next Read. More batches at a time would need copied frames or exchanged buffers,
// and several processors would work on the bytes of one connection.
// docs/adr/0010-layer-goroutines.md has the cost. Batches of different readers run in parallel, and
// so do packets of one batch in different layers.
type batchFeeder struct {
	n        *packetNet
	reader   *reader
	packets  [batchSize]packet
	pointers [batchSize]*packet // pointers to packets, for Put
	inFlight atomic.Int64       // packets of the batch that are not finished
	// finishPackets -> processBatch: the batch is finished; capacity 1, never closed. Nil under
	// RunChain: Put returns when it is
	batchDone chan struct{}
}

func (n *packetNet) newFeeder(l *reader) *batchFeeder {
	i := &batchFeeder{n: n, reader: l}
	if n.s.cfg.Run == RunNetwork {
		i.batchDone = make(chan struct{}, 1)
	}
	for j := range i.packets {
		i.pointers[j] = &i.packets[j]
	}
	return i
}

// processBatch passes a batch through the net and waits until it is finished. Packets that find the
// first queue full are dropped and counted. The wait ends, because layer goroutines never block.
func (i *batchFeeder) processBatch(frames []link.Frame, now tcp.Time) {
	if len(frames) == 0 {
		return
	}
	for j := range frames {
		i.packets[j] = packet{reader: i.reader, frame: &frames[j], now: now, nextLayer: ethernetLayer}
	}
	all := i.pointers[:len(frames)]
	i.inFlight.Store(int64(len(all)))
	for _, p := range all[i.n.net.Put(all):] {
		i.n.countRefused(p, flow.ErrFull)
	}
	if i.batchDone != nil {
		<-i.batchDone
	}
}

// finishPackets counts packets that are delivered or dropped.
func (i *batchFeeder) finishPackets(packets int) {
	if i.batchDone != nil && packets > 0 && i.inFlight.Add(int64(-packets)) == 0 {
		i.batchDone <- struct{}{}
	}
}

// Topology returns the net with its counters, for package flow/draw.
func (s *Stack) Topology() flow.Topology { return s.packetNet.net.Snapshot() }
