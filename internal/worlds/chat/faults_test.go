package chat_test

import (
	"math/rand/v2"
	"time"

	"weir/tcpip/netsim"
)

// network is the network of a world: a server, users at home, and users behind a NAT.
type network struct {
	w       *netsim.World
	server  *netsim.Host
	clients []*netsim.Host
	links   []*netsim.Link // of the clients, in their order
	nat     *netsim.NAT
	chat    *service
}

// The clients' hosts.
const (
	phone = iota
	laptop
	tablet
	radioSet
	office // this one and the next are behind the NAT
	browser
)

// newNetwork builds the network with paths by chance.
func newNetwork(w *netsim.World) *network {
	n := &network{w: w, server: w.Host("server"), nat: w.NAT("nat", netsim.NATConfig{})}
	internet := w.Router("internet")
	w.Link(n.server, internet, netsim.Path{Delay: 2 * time.Millisecond})
	w.Link(n.nat, internet, netsim.Path{Delay: 5 * time.Millisecond})
	for _, name := range []string{"phone", "laptop", "tablet", "radio", "office", "browser"} {
		if len(n.clients) < office {
			n.clients = append(n.clients, w.Host(name))
			n.links = append(n.links, w.Link(n.clients[len(n.clients)-1], internet, path(w.Rand())))
			continue
		}
		h := n.nat.Host(name)
		n.clients = append(n.clients, h)
		n.links = append(n.links, w.Link(h, n.nat, path(w.Rand())))
	}
	return n
}

// path draws a path that works.
func path(r *rand.Rand) netsim.Path {
	return netsim.Path{
		Delay: time.Duration(r.IntN(80)) * time.Millisecond, Jitter: time.Duration(r.IntN(20)) * time.Millisecond,
		Loss: float64(r.IntN(4)) * 0.02, Duplicate: float64(r.IntN(2)) * 0.02, Reorder: float64(r.IntN(2)) * 0.05,
	}
}

// faultyUntil is when the last fault has ended.
const faultyUntil = 4 * time.Minute

// disturb schedules faults.
func (n *network) disturb() {
	n.w.Chaos(netsim.Faults{
		Isolate: append(netsim.Group{n.server}, n.clients...), Pause: append(netsim.Group{n.server}, n.clients...),
		Links: n.links, Other: []func(){n.nat.Forget, n.chat.restart},
		Start: 5 * time.Second, Until: faultyUntil, Every: 20 * time.Second, Longest: 4 * time.Minute, MaxHosts: 3,
	})
	// longer than a client waits for an answer: it gives its connection up
	n.w.Chaos(netsim.Faults{Isolate: n.clients, Start: 5 * time.Second, Until: faultyUntil, Every: time.Minute, Longest: 20 * time.Minute})
	r := n.w.Rand()
	for range r.IntN(3) { // kill saves the data first, so it is no Crash of Chaos
		begin := time.Duration(5+r.IntN(120)) * time.Second
		n.w.At(begin, n.chat.kill)
		n.w.At(begin+time.Duration(1+r.IntN(30))*time.Second, n.server.Restart)
	}
}
