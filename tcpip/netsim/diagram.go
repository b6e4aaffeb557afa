package netsim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"weir/tcpip/fabric"
)

// diagram is the sequence diagram of a world, in the form that the page's script draws. Times are
// nanoseconds since the start of the world; hosts and connections are numbers.
type diagram struct {
	Hosts       []string `json:"hosts"`
	Connections []string `json:"connections"`
	Arrows      []arrow  `json:"arrows"`
	Marks       []mark   `json:"marks"`
	Before      int      `json:"before"` // arrows that are left out: earlier ones
	After       int      `json:"after"`  // later ones
}

// arrow is a packet from its sending to its delivery or loss.
type arrow struct {
	Number     uint64        `json:"number"` // of the packet
	From       int           `json:"from"`
	To         int           `json:"to"` // none: unknown
	Sent       time.Duration `json:"sent"`
	At         time.Duration `json:"at"` // of the delivery or loss
	Label      string        `json:"label"`
	Detail     string        `json:"detail"`
	Connection int           `json:"connection"` // or none
	Kind       packetKind    `json:"kind"`
	Again      bool          `json:"again,omitempty"` // a retransmission
	Lost       string        `json:"lost,omitempty"`  // why
	LostAt     int           `json:"lostAt"`          // the node: a host, or none
	Open       bool          `json:"open,omitempty"`  // not lost, but under way at the end
}

// mark is a note at its time.
type mark struct {
	At     time.Duration `json:"at"`
	Kind   string        `json:"kind"`             // note, fault or failure
	Needed bool          `json:"needed,omitempty"` // a fault that is needed
	Text   string        `json:"text"`
	Where  string        `json:"where"`
	Host   int           `json:"host"` // whose state changes, or none
	State  string        `json:"state,omitempty"`
}

// sketch draws a diagram from the events of a trace, in their order.
type sketch struct {
	diagram
	conns connections
	hosts map[string]int
	sent  map[uint64]*sentPacket
}

// sentPacket is a packet whose sending is in the trace.
type sentPacket struct {
	arrow arrow
	end   flowEnd
	ended bool // it was delivered or lost at least once
}

// draw returns the diagram of a world that has failed.
func (w *World) draw(o outcome) diagram {
	events, _ := w.trace.all()
	s := &sketch{hosts: map[string]int{}, sent: map[uint64]*sentPacket{}, conns: connections{flows: map[flow]flowEnd{}, names: w.hostNames()}}
	for i := range events {
		s.add(&events[i])
	}
	s.addUnfinished(events)
	rec := w.recorded()
	for _, n := range rec.notes {
		m := s.markOf(n)
		m.Needed = n.Kind == faultEntry && slices.ContainsFunc(o.needed, func(f int) bool { return o.smallest.faults[f].due == n.At })
		s.Marks = append(s.Marks, m)
	}
	for _, c := range s.conns.all {
		s.Connections = append(s.Connections, c.name)
	}
	s.crop(rec.failures)
	return s.diagram
}

// hostNames returns the names of the hosts by their addresses.
func (w *World) hostNames() map[netip.Addr]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[netip.Addr]string{}
	for _, m := range w.hosts {
		for _, p := range m.addrs {
			names[p.Addr()] = m.node.Name()
		}
	}
	return names
}

// host returns the number of a lifeline, a new one if there is none.
func (s *sketch) host(name string) int {
	number, known := s.hosts[name]
	if !known {
		number = len(s.Hosts)
		s.hosts[name] = number
		s.Hosts = append(s.Hosts, name)
	}
	return number
}

func (s *sketch) add(e *tracedEvent) {
	if e.kind == fabric.EventSent {
		s.addSent(e)
		return
	}
	p := s.sent[e.number]
	if p == nil { // its sending is forgotten, or the network itself has sent it
		if e.kind != fabric.EventDelivered {
			return
		}
		s.addSent(e)
		p = s.sent[e.number]
	}
	a := p.arrow
	a.At = e.at
	if e.kind == fabric.EventDelivered {
		s.conns.delivered(p.end, e.node, e.packet)
		a.To = s.host(e.node)
	} else {
		a.To, a.Lost, a.LostAt = s.towards(p, e.packet), e.why.String(), s.lostAt(e.node)
		a.Detail += " Dropped at " + e.node + ": " + a.Lost + "."
	}
	p.ended = true
	s.Arrows = append(s.Arrows, a)
}

func (s *sketch) addSent(e *tracedEvent) {
	end := s.conns.sent(e.node, e.packet)
	var c *connection
	if end.number != none {
		c = s.conns.all[end.number]
	}
	text, kind, again := label(e.packet, c, end.end)
	from := s.host(e.node)
	detail := fmt.Sprintf("Packet %d, %d bytes. %s.", e.number, len(e.packet), summary(e.packet))
	s.sent[e.number] = &sentPacket{end: end, arrow: arrow{Number: e.number, From: from, To: from, Sent: e.at, At: e.at, Label: text, Kind: kind, Again: again, Detail: detail, Connection: end.number, LostAt: none}}
}

// towards returns the host to which a lost packet was sent, or none.
func (s *sketch) towards(p *sentPacket, packet []byte) int {
	name := ""
	if _, _, dst, _, ok := splitIP(packet); ok {
		name = s.conns.names[dst.Addr()]
	}
	if name == "" && p.end.number != none {
		name = s.conns.all[p.end.number].hosts[1-p.end.end]
	}
	if name == "" || s.host(name) == p.arrow.From {
		return none
	}
	return s.host(name)
}

// lostAt returns the lifeline at which a packet was lost; none: between two.
func (s *sketch) lostAt(node string) int {
	if number, known := s.hosts[node]; known {
		return number
	}
	return none
}

// addUnfinished adds the packets that were under way at the end of the world.
func (s *sketch) addUnfinished(events []tracedEvent) {
	for i := range events {
		p := s.sent[events[i].number]
		if p == nil || p.ended {
			continue
		}
		p.ended = true
		a := p.arrow
		a.To, a.Lost, a.Open = s.towards(p, events[i].packet), "under way at the end", true
		s.Arrows = append(s.Arrows, a)
	}
}

func (s *sketch) markOf(n entry) mark {
	m := mark{At: n.At, Kind: "note", Text: n.Text, Where: n.Where, Host: none}
	switch n.Kind {
	case faultEntry:
		m.Kind = "fault"
	case failedEntry:
		m.Kind = "failure"
	}
	if number, known := s.hosts[n.host]; known && n.state != unchangedHost {
		m.Host, m.State = number, [...]string{runningHost: "running", downHost: "down", pausedHost: "paused"}[n.state]
	}
	return m
}

// maxArrows limits a diagram; of these, arrowsAfter are after the first failure, if there are
// enough. maxMarks limits the notes in it.
const maxArrows, arrowsAfter, maxMarks = 2000, 400, 1000

// crop leaves out the arrows that are far from the first failure, and the notes outside of what is
// left. Faults and failures stay.
func (s *sketch) crop(failures []entry) {
	slices.SortStableFunc(s.Arrows, func(a, b arrow) int { return cmp.Compare(a.Sent, b.Sent) })
	failed := len(s.Arrows)
	if len(failures) > 0 {
		failed, _ = slices.BinarySearchFunc(s.Arrows, failures[0].At+1, func(a arrow, at time.Duration) int { return cmp.Compare(a.Sent, at) })
	}
	end := min(len(s.Arrows), max(failed+arrowsAfter, maxArrows))
	begin := max(0, end-maxArrows)
	s.Before, s.After = begin, len(s.Arrows)-end
	s.Arrows = s.Arrows[begin:end]
	notes := 0
	s.Marks = slices.DeleteFunc(s.Marks, func(m mark) bool {
		outside := s.Before > 0 && m.At < s.Arrows[0].Sent || s.After > 0 && m.At > s.Arrows[len(s.Arrows)-1].At
		if m.Kind == "note" {
			notes++
		}
		return m.Kind == "note" && (outside || notes > maxMarks)
	})
}
