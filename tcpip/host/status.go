package host

import (
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
)

// Status is a snapshot of a host for people and programs. Addresses are text, times are
// nanoseconds.
type Status struct {
	Tap       string        `json:"tap"`
	Namespace string        `json:"namespace,omitempty"`
	Addr      string        `json:"addr"`      // empty: DHCP has given none yet
	Addrs     []string      `json:"addresses"` // Addr is the first
	MAC       string        `json:"mac"`
	MTU       int           `json:"mtu"`
	Queues    int           `json:"queues"`
	Offload   bool          `json:"offload"`
	Run       tcpip.Run     `json:"run"`
	Impair    string        `json:"impair"`
	Up        time.Duration `json:"up_ns"`

	Memory     int `json:"memory_bytes"` // used by connections' buffers
	MemoryMost int `json:"memory_most_bytes"`

	Interfaces []Interface `json:"interfaces"`
	Listeners  []Listener  `json:"listeners"`
	// total; Connections has the first of them
	Total       int               `json:"connections_total"`
	Connections []Connection      `json:"connections"`
	Sockets     []Socket          `json:"sockets"`
	Neighbours  []Neighbour       `json:"neighbours"`
	Routes      []Route           `json:"routes"`
	Drops       map[string]uint64 `json:"drops"` // dropped packets by reason, without zeros
}

// Interface describes an interface of the stack.
type Interface struct {
	Name          string            `json:"name"`
	Received      uint64            `json:"received"`
	ReceivedBytes uint64            `json:"received_bytes"`
	Sent          uint64            `json:"sent"`
	SentBytes     uint64            `json:"sent_bytes"`
	Dropped       map[string]uint64 `json:"dropped"`
}

// Listener describes a TCP listener.
type Listener struct {
	Local   string `json:"local"`
	Service string `json:"service,omitempty"`
	Opening int    `json:"opening"`
	Waiting int    `json:"waiting"`
	Backlog int    `json:"backlog"`
}

// Connection describes a TCP connection.
type Connection struct {
	Local  string `json:"local"`
	Remote string `json:"remote"`
	State  string `json:"state"`
	Unread int    `json:"unread_bytes"` // received and not read
	// written and not acknowledged
	Unsent int           `json:"unsent_bytes"`
	RTT    time.Duration `json:"rtt_ns"`
	Window int           `json:"window_bytes"` // congestion window
	Resent uint64        `json:"resent"`       // retransmitted segments
}

// Socket describes a UDP socket.
type Socket struct {
	Local   string `json:"local"`
	Remote  string `json:"remote,omitempty"`
	Waiting int    `json:"waiting"`
	Dropped uint64 `json:"dropped"`
}

// Neighbour describes an entry of the neighbour table.
type Neighbour struct {
	Addr  string `json:"addr"`
	MAC   string `json:"mac,omitempty"`
	State string `json:"state"`
}

// Route describes a route.
type Route struct {
	To        string `json:"to"`
	Via       string `json:"via,omitempty"`
	Interface string `json:"interface"`
}

// A status lists defaultListed connections unless another number is asked for, and never more than
// maxListed.
const (
	defaultListed = 1000
	maxListed     = 50000
)

// Status returns a snapshot of the host with at most so many connections; 0: 1,000.
func (h *Host) Status(most int) *Status {
	if most <= 0 {
		most = defaultListed
	}
	s := h.stack
	now := &Status{Tap: h.config.Tap, Namespace: h.config.Namespace, MAC: h.caps.MAC.String(), MTU: h.caps.MTU, Queues: h.caps.Queues,
		Offload: h.caps.Superframe > 0, Run: h.runModel(), Impair: ImpairmentText(h.Impairment()), Up: time.Since(h.startedAt), Drops: map[string]uint64{},
		Listeners: []Listener{}, Connections: []Connection{}, Sockets: []Socket{}, Neighbours: []Neighbour{}, Routes: []Route{}}
	for _, a := range h.addrs() {
		now.Addrs = append(now.Addrs, a.String())
	}
	if len(now.Addrs) > 0 {
		now.Addr = now.Addrs[0]
	}
	now.Memory, now.MemoryMost = s.Memory()
	for _, i := range s.Interfaces() {
		now.Interfaces = append(now.Interfaces, interfaceOf(i, h.config.Tap))
	}
	for _, l := range s.Listeners() {
		now.Listeners = append(now.Listeners, Listener{l.Local.String(), h.serviceAt(l.Local.Port()), l.Opening, l.Waiting, l.Backlog})
	}
	connections := s.Connections()
	now.Total = len(connections)
	for _, c := range connections[:min(len(connections), most, maxListed)] {
		now.Connections = append(now.Connections, Connection{c.Local.String(), c.Remote.String(), c.State.String(), c.Unread, c.Unsent + c.InFlight, c.RTT, c.CongestionWindow, c.Retransmitted})
	}
	for _, u := range s.Sockets() {
		socket := Socket{u.Local.String(), "", u.Waiting, u.Dropped}
		if u.Remote.IsValid() {
			socket.Remote = u.Remote.String()
		}
		now.Sockets = append(now.Sockets, socket)
	}
	h.addNeighboursAndRoutes(now)
	for why, n := range s.Drops() {
		if n > 0 {
			now.Drops[why.String()] = n
		}
	}
	return now
}

// addNeighboursAndRoutes fills in the neighbours and routes.
func (h *Host) addNeighboursAndRoutes(now *Status) {
	for _, n := range h.stack.Neighbours() {
		one := Neighbour{Addr: n.Addr.String(), State: n.State.String()}
		if n.MAC != [6]byte{} {
			one.MAC = n.MAC.String()
		}
		now.Neighbours = append(now.Neighbours, one)
	}
	for _, r := range h.stack.Routes() {
		one := Route{To: r.To.String(), Interface: interfaceName(r.Interface, h.config.Tap)}
		if r.Via.IsValid() {
			one.Via = r.Via.String()
		}
		now.Routes = append(now.Routes, one)
	}
}

// interfaceName returns the name for users: the stack's link is called by its device.
func interfaceName(name, tap string) string {
	if name == "link" {
		return tap
	}
	return name
}

func interfaceOf(i tcpip.InterfaceInfo, tap string) Interface {
	c := i.Counters
	one := Interface{interfaceName(i.Name, tap), c.Received, c.ReceivedBytes, c.Sent, c.SentBytes, map[string]uint64{}}
	for why, n := range c.Dropped {
		if n > 0 {
			one.Dropped[link.Drop(why).String()] = n
		}
	}
	return one
}

// runModel returns the concurrency model of the receive path.
func (h *Host) runModel() tcpip.Run {
	if h.config.Run == "" {
		return tcpip.RunChain
	}
	return h.config.Run
}

func (h *Host) serviceAt(port uint16) string {
	for _, s := range h.config.Services {
		if s.Port == port {
			return s.Name
		}
	}
	return ""
}
