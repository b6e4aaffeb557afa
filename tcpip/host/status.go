package host

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/wire"
)

// Status is a snapshot of a host for people and programs. Addresses are text, times are
// nanoseconds.
type Status struct {
	Tap       string        `json:"tap"`       // this and the next are those of the first link
	Addr      string        `json:"addr"`      // empty: DHCP has given none yet
	Addrs     []string      `json:"addresses"` // of all links; Addr is the first
	MAC       string        `json:"mac"`
	MTU       int           `json:"mtu"`
	Impair    string        `json:"impair"`
	Offload   bool          `json:"offload"`
	Namespace string        `json:"namespace,omitempty"`
	Queues    int           `json:"queues"` // of each link
	Run       tcpip.Run     `json:"run"`
	Up        time.Duration `json:"up_ns"`

	Memory     int `json:"memory_bytes"` // used by connections' buffers
	MemoryMost int `json:"memory_most_bytes"`

	Interfaces []Interface `json:"interfaces"`
	Listeners  []Listener  `json:"listeners"`
	// total; Connections has the first of them
	Total       int               `json:"connections_total"`
	Connections []Connection      `json:"connections"`
	Sockets     []Socket          `json:"sockets"`
	Groups      []Group           `json:"groups"`
	Neighbours  []Neighbour       `json:"neighbours"`
	Routes      []Route           `json:"routes"`
	Drops       map[string]uint64 `json:"drops"` // dropped packets by reason, without zeros
}

// Interface describes an interface of the stack: those of the links, in their order, and then the
// loopback.
type Interface struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // tap, tun or loopback
	// the addresses in use; link-local ones of IPv6 without the zone, which is Name
	Addrs         []string          `json:"addresses"`
	MAC           string            `json:"mac,omitempty"`
	MTU           int               `json:"mtu"`
	Metric        int               `json:"metric"`
	Offload       bool              `json:"offload"`
	Impair        string            `json:"impair,omitempty"`
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

// Group describes a multicast group that sockets have joined.
type Group struct {
	Addr      string `json:"addr"`
	Interface string `json:"interface"`
	Members   int    `json:"members"` // sockets
}

// Neighbour describes an entry of the neighbour table.
type Neighbour struct {
	Addr      string `json:"addr"`
	MAC       string `json:"mac,omitempty"`
	State     string `json:"state"`
	Interface string `json:"interface"`
}

// Route describes a route.
type Route struct {
	To        string `json:"to"`
	Via       string `json:"via,omitempty"`
	Interface string `json:"interface"`
	Metric    int    `json:"metric"`
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
	now := &Status{Namespace: h.config.Namespace, Queues: h.devices[0].caps.Queues, Run: h.runModel(), Up: time.Since(h.startedAt), Drops: map[string]uint64{},
		Listeners: []Listener{}, Connections: []Connection{}, Sockets: []Socket{}, Groups: []Group{}, Neighbours: []Neighbour{}, Routes: []Route{}}
	h.addInterfaces(now)
	now.Memory, now.MemoryMost = s.Memory()
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
	for _, g := range s.Groups() {
		now.Groups = append(now.Groups, Group{g.Group.String(), g.Interface, g.Members})
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
		one := Neighbour{Addr: n.Addr.String(), State: n.State.String(), Interface: n.Interface}
		if n.MAC != [6]byte{} {
			one.MAC = n.MAC.String()
		}
		now.Neighbours = append(now.Neighbours, one)
	}
	for _, r := range h.stack.Routes() {
		one := Route{To: r.To.String(), Interface: r.Interface, Metric: r.Metric}
		if r.Via.IsValid() {
			one.Via = r.Via.String()
		}
		now.Routes = append(now.Routes, one)
	}
}

// addInterfaces fills in the interfaces, and what the status has of the first link.
func (h *Host) addInterfaces(now *Status) {
	used := h.stack.Addrs()
	for n, i := range h.stack.Interfaces() {
		one := interfaceOf(i)
		for _, a := range i.Addrs {
			if slices.Contains(used, a) {
				one.Addrs = append(one.Addrs, a.String())
			}
		}
		if n < len(h.devices) {
			d := h.devices[n]
			one.Kind, one.Metric, one.Impair = kinds[d.config.Medium], d.config.Metric, d.impairText()
			if d.config.DHCP {
				// the host is known by its leased address, if there is one
				slices.SortStableFunc(one.Addrs, func(a, b string) int { return cmp.Compare(family(a), family(b)) })
			}
			now.Addrs = append(now.Addrs, one.Addrs...)
		}
		now.Interfaces = append(now.Interfaces, one)
	}
	if len(now.Addrs) > 0 {
		now.Addr = now.Addrs[0]
	}
	first := &now.Interfaces[0]
	now.Tap, now.MAC, now.MTU, now.Offload, now.Impair = first.Name, first.MAC, first.MTU, first.Offload, first.Impair
}

// family returns 4 for an address of IPv4, and 6 for one of IPv6.
func family(addr string) int {
	if strings.Contains(addr, ":") {
		return 6
	}
	return 4
}

func interfaceOf(i tcpip.InterfaceInfo) Interface {
	c := i.Counters
	one := Interface{Name: i.Name, Kind: "loopback", Addrs: []string{}, MTU: i.Caps.MTU, Offload: i.Caps.Superframe > 0,
		Received: c.Received, ReceivedBytes: c.ReceivedBytes, Sent: c.Sent, SentBytes: c.SentBytes, Dropped: map[string]uint64{}}
	if i.Caps.MAC != (wire.MAC{}) {
		one.MAC = i.Caps.MAC.String()
	}
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
