// Package metrics exports the counters of a stack to Prometheus. It is a package of its own, so
// that programs without metrics do not link Prometheus.
//
// # Limitations
//
// There are no histograms: the stack counts, and measures no times.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weir_stack_"+name, help, labels, nil)
}

// The metrics of a stack. The direction of a packet is in or out. A superframe of TCP is one
// packet.
var (
	framesTotal      = describe("frames_total", "Frames that passed a link.", "interface", "direction")
	bytesTotal       = describe("bytes_total", "Bytes of frames that passed a link.", "interface", "direction")
	packetsTotal     = describe("packets_total", "IP packets that passed a link, by protocol; a superframe counts as one.", "interface", "direction", "protocol")
	lostFrames       = describe("frames_dropped_total", "Frames that a link dropped, by reason.", "interface", "reason")
	lostPackets      = describe("packets_dropped_total", "Packets that the stack dropped, by reason.", "reason")
	retransmitsTotal = describe("segments_resent_total", "TCP segments that were retransmitted.")

	conflictsTotal = describe("address_conflicts_total", "ARP messages of other hosts that used an address of the stack.", "interface")

	cookiesTotal    = describe("syn_cookies_total", "SYN cookies: sent in a SYN-ACK (given), and returned to open a connection (taken).", "what")
	timeWaitEvicted = describe("time_wait_forgotten_total", "Connections evicted from TIME-WAIT early because the table was full.")

	connections = describe("connections", "TCP connections, by state.", "state")
	listeners   = describe("listeners", "TCP listeners.")
	udpSockets  = describe("udp_sockets", "UDP sockets.")
	neighbours  = describe("neighbours", "Neighbours in the ARP table, by state.", "interface", "state")
	memoryBytes = describe("memory_bytes", "Bytes in use by connections' buffers and by fragment reassembly.", "of")
	memoryLimit = describe("memory_limit_bytes", "Limit of memory_bytes.", "of")
)

// NewCollector returns the metrics of a stack: frames, packets and segments in and out, drops by
// reason, connections by state, neighbours, memory. Distinguish two stacks in one registry by
// prometheus.WrapRegistererWith. A scrape takes each connection's lock for a moment.
func NewCollector(s *tcpip.Stack) prometheus.Collector { return collector{s} }

type collector struct{ s *tcpip.Stack }

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{framesTotal, bytesTotal, packetsTotal, lostFrames, lostPackets, retransmitsTotal, conflictsTotal, cookiesTotal, timeWaitEvicted, connections, listeners, udpSockets, neighbours, memoryBytes, memoryLimit} {
		to <- d
	}
}

// metricSender sends the values of a scrape.
type metricSender chan<- prometheus.Metric

func (t metricSender) counter(d *prometheus.Desc, n uint64, labels ...string) {
	t <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func (t metricSender) gauge(d *prometheus.Desc, n int, labels ...string) {
	t <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s, t := c.s, metricSender(to)
	for _, i := range s.Interfaces() {
		t.counter(framesTotal, i.Counters.Received, i.Name, "in")
		t.counter(framesTotal, i.Counters.Sent, i.Name, "out")
		t.counter(bytesTotal, i.Counters.ReceivedBytes, i.Name, "in")
		t.counter(bytesTotal, i.Counters.SentBytes, i.Name, "out")
		for d, n := range i.Counters.Dropped {
			t.counter(lostFrames, n, i.Name, link.Drop(d).String())
		}
		t.counter(conflictsTotal, i.Conflicts, i.Name)
		for _, p := range i.Packets {
			t.counter(packetsTotal, p.Received, i.Name, "in", p.Protocol)
			t.counter(packetsTotal, p.Sent, i.Name, "out", p.Protocol)
		}
	}
	for d, n := range s.Drops() {
		t.counter(lostPackets, n, d.String())
	}
	t.counter(retransmitsTotal, s.Retransmitted())
	c.states(t)
	held, most := s.Memory()
	t.gauge(memoryBytes, held, "connections")
	t.gauge(memoryLimit, most, "connections")
	held, most = s.FragmentMemory()
	t.gauge(memoryBytes, held, "fragments")
	t.gauge(memoryLimit, most, "fragments")
}

// states sends the gauges of connections, sockets and neighbours, and the counters beside them.
func (c collector) states(t metricSender) {
	_, lost := c.s.TimeWaits()
	t.counter(timeWaitEvicted, lost)
	given, taken := c.s.Cookies()
	t.counter(cookiesTotal, given, "given")
	t.counter(cookiesTotal, taken, "taken")
	of := c.s.ConnectionStates()
	for state := tcp.SynSent; state <= tcp.TimeWait; state++ {
		t.gauge(connections, of[state], state.String())
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
	for _, i := range c.s.Interfaces() {
		for state := range neigh.StateCount {
			t.gauge(neighbours, known[kind{i.Name, state}], i.Name, state.String())
		}
	}
}
