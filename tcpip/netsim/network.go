package netsim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"weir/tcpip/fabric"
)

// Path describes one direction of a link: its delay, rate and losses.
type Path = fabric.Path

// NATConfig configures a NAT.
type NATConfig = fabric.NATConfig

// Bits a second, for Path.Rate.
const (
	Kbit int64 = 1000
	Mbit       = 1000 * Kbit
	Gbit       = 1000 * Mbit
)

// Node is what links join: a *Host, *Switch, *Router or *NAT.
type Node interface{ fabricNode() *fabric.Node }

func (h *Host) fabricNode() *fabric.Node { return h.m.node }

// Switch joins hosts to one network.
type Switch struct{ node *fabric.Node }

func (s *Switch) fabricNode() *fabric.Node { return s.node }

// Router forwards packets, and sends ICMP errors.
type Router struct{ node *fabric.Node }

func (r *Router) fabricNode() *fabric.Node { return r.node }

// NAT translates addresses between the hosts behind it and the others. Its methods add nodes behind
// it, with addresses of IPv4.
type NAT struct {
	w    *World
	node *fabric.Node
}

func (n *NAT) fabricNode() *fabric.Node { return n.node }

// Switch adds a switch.
func (w *World) Switch(name string) *Switch {
	w.Helper()
	return &Switch{w.must(w.net.Switch(name))}
}

// Router adds a router.
func (w *World) Router(name string) *Router {
	w.Helper()
	return &Router{w.must(w.net.Router(name))}
}

// NAT adds a NAT.
func (w *World) NAT(name string, c NATConfig) *NAT {
	w.Helper()
	return &NAT{w, w.must(w.net.NAT(name, c))}
}

func (w *World) must(n *fabric.Node, err error) *fabric.Node {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Host adds a host behind the NAT.
func (n *NAT) Host(name string) *Host {
	n.w.Helper()
	node, err := n.node.HostWith(name, fabric.HostConfig{})
	return n.w.newHost(node, HostConfig{}, err)
}

// Switch adds a switch behind the NAT.
func (n *NAT) Switch(name string) *Switch {
	n.w.Helper()
	return &Switch{n.w.must(n.node.Switch(name))}
}

// Router adds a router behind the NAT.
func (n *NAT) Router(name string) *Router {
	n.w.Helper()
	return &Router{n.w.must(n.node.Router(name))}
}

// NAT adds a NAT behind the NAT.
func (n *NAT) NAT(name string, c NATConfig) *NAT {
	n.w.Helper()
	return &NAT{n.w, n.w.must(n.node.NAT(name, c))}
}

// Publish forwards a TCP and UDP port of the NAT's outer address to a host behind it.
func (n *NAT) Publish(port uint16, to *Host, toPort uint16) {
	n.w.Helper()
	if err := n.node.Publish(port, to.m.node, toPort); err != nil {
		n.w.Fatal(err)
	}
}

// Forget removes all mappings, as a NAT does that restarts: connections through it hang.
func (n *NAT) Forget() {
	n.w.note(faultEntry, "forget the mappings of %s", n.node.Name())
	n.node.Forget()
}

// Link joins two nodes.
type Link struct {
	w    *World
	link *fabric.Link
}

// Link joins two nodes, with the same path in both directions.
func (w *World) Link(a, b Node, p Path) *Link {
	w.Helper()
	l, err := w.net.Connect(a.fabricNode(), b.fabricNode(), p, p)
	if err != nil {
		w.Fatal(err)
	}
	return &Link{w, l}
}

// Join joins nodes by a switch, with a link of this path for each: between two of them are two
// links. It returns the links in the order of the nodes.
func (w *World) Join(p Path, nodes ...Node) []*Link {
	w.Helper()
	w.mu.Lock()
	w.switches++
	name := fmt.Sprintf("switch%d", w.switches)
	w.mu.Unlock()
	s := w.Switch(name)
	var links []*Link
	for _, n := range nodes {
		links = append(links, w.Link(n, s, p))
	}
	return links
}

// Set changes the path of both directions. Packets in flight arrive when they would have arrived.
// With another Rate, later packets do not wait for them, and may overtake them.
func (l *Link) Set(p Path) { l.SetEach(p, p) }

// SetEach changes the path from the first node of World.Link to the second one, and back.
func (l *Link) SetEach(there, back Path) {
	l.w.Helper()
	a, b := l.link.Ends()
	text := describePath(there)
	if there != back {
		text += fmt.Sprintf("; from %s: %s", b.Name(), describePath(back))
	}
	l.w.note(faultEntry, "link %s - %s: %s", a.Name(), b.Name(), text)
	if err := l.link.Set(there, back); err != nil {
		l.w.Fatal(err)
	}
}

// describePath lists the settings of a path that are not zero.
func describePath(p Path) string {
	var all []string
	for v, n := reflect.ValueOf(p), 0; n < v.NumField(); n++ {
		if f := v.Field(n); !f.IsZero() {
			all = append(all, fmt.Sprintf("%s %v", v.Type().Field(n).Name, f))
		}
	}
	if len(all) == 0 {
		return "a perfect path"
	}
	return strings.Join(all, ", ")
}

// Hosts are one or more hosts: a *Host, or a Group.
type Hosts interface{ machines() []*machine }

func (h *Host) machines() []*machine { return []*machine{h.m} }

// Group is several hosts as one side of a partition.
type Group []*Host

func (g Group) machines() (all []*machine) {
	for _, h := range g {
		all = append(all, h.m)
	}
	return all
}

// Partition drops all packets between hosts of a and hosts of b from now on, also those in flight.
func (w *World) Partition(a, b Hosts) { w.partition(w.caller(), a, b, false) }

// PartitionOneWay drops the packets from hosts of a to hosts of b.
func (w *World) PartitionOneWay(a, b Hosts) { w.partition(w.caller(), a, b, true) }

func (w *World) partition(where string, a, b Hosts, oneWay bool) {
	w.noteFault(where, "partition "+sidesOf(a, b, oneWay))
	for _, x := range a.machines() {
		for _, y := range b.machines() {
			if x != y {
				w.net.Partition(x.node, y.node, oneWay)
			}
		}
	}
}

// sidesOf describes a partition.
func sidesOf(a, b Hosts, oneWay bool) string {
	if oneWay {
		return namesOf(a) + " -> " + namesOf(b)
	}
	return namesOf(a) + " | " + namesOf(b)
}

// HealBetween ends the partitions between hosts of a and hosts of b.
func (w *World) HealBetween(a, b Hosts) { w.healBetween(w.caller(), a, b) }

func (w *World) healBetween(where string, a, b Hosts) {
	w.noteFault(where, "heal "+namesOf(a)+" - "+namesOf(b))
	for _, x := range a.machines() {
		for _, y := range b.machines() {
			w.net.Heal(x.node, y.node)
		}
	}
}

// Others returns all hosts but these, to isolate them from: w.Partition(h, w.Others(h)).
func (w *World) Others(than ...*Host) (all Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.hosts {
		if !slices.ContainsFunc(than, func(h *Host) bool { return h.m == m }) {
			all = append(all, &Host{m: m})
		}
	}
	return all
}

// Heal ends all partitions.
func (w *World) Heal() {
	w.note(faultEntry, "heal")
	w.net.HealAll()
}

func namesOf(h Hosts) string {
	var names []string
	for _, m := range h.machines() {
		names = append(names, m.node.Name())
	}
	return strings.Join(names, ", ")
}
