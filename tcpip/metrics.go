package tcpip

import (
	"github.com/prometheus/client_golang/prometheus"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_stack_"+name, help, labels, nil)
}

// What is told of a stack. A packet's direction is in or out; that of TCP is a segment, or a
// superframe of several.
var (
	framesTotal  = describe("frames_total", "Frames that passed a link.", "interface", "direction")
	bytesTotal   = describe("bytes_total", "Bytes of frames that passed a link.", "interface", "direction")
	packetsTotal = describe("packets_total", "Packets of IP that passed a link, by what they carry; a superframe is one.", "interface", "direction", "protocol")
	lostFrames   = describe("frames_dropped_total", "Frames that a link dropped, by the reason.", "interface", "reason")
	lostPackets  = describe("packets_dropped_total", "Packets that the stack dropped, by the reason.", "reason")
	resentTotal  = describe("segments_resent_total", "Segments of TCP that were sent again.")

	conflictsTotal = describe("address_conflicts_total", "Messages of others that used an address of the stack's.", "interface")

	cookiesTotal = describe("syn_cookies_total", "SYN cookies: given to those who open a connection, and taken from those who have.", "what")
	forgotten    = describe("time_wait_forgotten_total", "Connections in TIME-WAIT that were forgotten before their time, for want of room.")

	connections = describe("connections", "TCP connections, by their state.", "state")
	listeners   = describe("listeners", "Addresses that take TCP connections.")
	udpSockets  = describe("udp_sockets", "UDP sockets.")
	neighbours  = describe("neighbours", "Neighbours that ARP knows or asks for, by their state.", "interface", "state")
	memoryBytes = describe("memory_bytes", "What buffers hold: those of connections, and of packets in fragments.", "of")
	memoryLimit = describe("memory_limit_bytes", "What buffers may hold.", "of")
)

// Collector tells Prometheus of the stack: frames, packets and segments in and out, what was
// dropped and why, connections by state, neighbours, memory. Two stacks in one registry are told
// apart by prometheus.WrapRegistererWith. Being asked takes each connection's lock for a moment.
func (s *Stack) Collector() prometheus.Collector { return collector{s} }

type collector struct{ s *Stack }

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{framesTotal, bytesTotal, packetsTotal, lostFrames, lostPackets, resentTotal, conflictsTotal, cookiesTotal, forgotten, connections, listeners, udpSockets, neighbours, memoryBytes, memoryLimit} {
		to <- d
	}
}

// telling sends what was read.
type telling chan<- prometheus.Metric

func (t telling) counter(d *prometheus.Desc, n uint64, labels ...string) {
	t <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func (t telling) gauge(d *prometheus.Desc, n int, labels ...string) {
	t <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s, t := c.s, telling(to)
	for _, i := range s.Interfaces() {
		t.counter(framesTotal, i.Counters.Received, i.Name, "in")
		t.counter(framesTotal, i.Counters.Sent, i.Name, "out")
		t.counter(bytesTotal, i.Counters.ReceivedBytes, i.Name, "in")
		t.counter(bytesTotal, i.Counters.SentBytes, i.Name, "out")
		for d, n := range i.Counters.Dropped {
			t.counter(lostFrames, n, i.Name, link.Drop(d).String())
		}
	}
	for _, i := range s.ifaces {
		i.mu.Lock()
		conflicts := i.claims.Conflicts
		i.mu.Unlock()
		t.counter(conflictsTotal, conflicts, i.name)
	}
	for d, n := range s.Drops() {
		t.counter(lostPackets, n, d.String())
	}
	c.packets(t)
	c.states(t)
	held, most := s.Memory()
	t.gauge(memoryBytes, held, "connections")
	t.gauge(memoryLimit, most, "connections")
	s.fragsMu.Lock()
	held, most = s.fragments.Held(), s.fragments.Most()
	s.fragsMu.Unlock()
	t.gauge(memoryBytes, held, "fragments")
	t.gauge(memoryLimit, most, "fragments")
}

// packets tells of what passed.
func (c collector) packets(t telling) {
	resent := uint64(0)
	for _, i := range c.s.ifaces {
		for kind, name := range carriedNames {
			var in, out uint64
			for _, l := range i.lanes {
				in += l.counts.came[kind].Load()
				out += l.counts.went[kind].Load()
			}
			t.counter(packetsTotal, in, i.name, "in", name)
			t.counter(packetsTotal, out, i.name, "out", name)
		}
		for _, l := range i.lanes {
			resent += l.counts.resent.Load()
		}
	}
	t.counter(resentTotal, resent)
}

// states tells of what there is.
func (c collector) states(t telling) {
	var of [tcp.TimeWait + 1]int
	for _, conn := range c.s.conns.all() {
		conn.mu.Lock()
		of[conn.tcp.State()]++
		conn.mu.Unlock()
	}
	waiting, lost := c.s.Waiting()
	of[tcp.TimeWait] += waiting
	t.counter(forgotten, lost)
	given, taken := c.s.Cookies()
	t.counter(cookiesTotal, given, "given")
	t.counter(cookiesTotal, taken, "taken")
	for state, n := range of[1:] { // one that is CLOSED is none
		t.gauge(connections, n, tcp.State(state+1).String())
	}
	t.gauge(listeners, len(c.s.Listeners()))
	t.gauge(udpSockets, len(c.s.Sockets()))
	type kind struct {
		iface string
		state neigh.State
	}
	known := map[kind]int{}
	for _, n := range c.s.Neighbours() {
		known[kind{n.Interface, n.State}]++
	}
	for _, i := range c.s.ifaces {
		for state := range neigh.States {
			t.gauge(neighbours, known[kind{i.name, state}], i.name, state.String())
		}
	}
}
