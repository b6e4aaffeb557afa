package netsim

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"weir/internal/testsize"
	"weir/tcpip"
	"weir/tcpip/tcp"
)

// A seed chooses a network of up to six hosts with routers and a NAT, paths, settings of the
// stacks, partitions, and connections as in TestConversationsOfAllSeedsArriveAndLeaveNothing. All
// data must arrive once, in order and to the end, since each partition ends.
func TestStacksInAllNetworks(t *testing.T) {
	Run(t, Seeds(testsize.Of(t, "WEIR_NETSIM_WORLDS", 40)), func(w *World) {
		n := newNetwork(w)
		for range w.Rand().IntN(4) {
			begin := time.Duration(w.Rand().IntN(3000)) * time.Millisecond
			a, b := n.twoHosts()
			w.At(begin, func() { w.Partition(a, b) })
			w.At(begin+time.Duration(w.Rand().IntN(10_000))*time.Millisecond, w.Heal)
		}
		results := make(chan error, 4) // the sessions -> here: one of each
		count := 1 + w.Rand().IntN(4)
		for i := range count {
			s := session{after: time.Duration(w.Rand().IntN(300)) * time.Millisecond, ends: [2]habits{habit(w.Rand()), habit(w.Rand())}}
			client, server := n.twoHosts()
			stacks := [2]*tcpip.Stack{client.Stack(), server.Stack()}
			go func() { results <- s.play(stacks, server.Addr(), i) }()
		}
		for range count {
			if err := <-results; err != nil {
				w.Error(err)
			}
		}
	})
}

// network is the network of a seed.
type network struct {
	w       *World
	servers []*Host // reached by all
	clients []*Host // those behind the NAT
}

// newNetwork returns hosts at two routers, and hosts behind a NAT at one of them.
func newNetwork(w *World) *network {
	n := &network{w: w}
	r := w.Rand()
	routers := []*Router{w.Router("left"), w.Router("right")}
	// a packet is corrupted once at most: TCP's checksum does not find two bits that compensate
	wide := Path{Delay: time.Duration(r.IntN(60)) * time.Millisecond, MTU: []int{0, 600, 1280, 1400}[r.IntN(4)], Rate: 2 * Mbit, CoDel: r.IntN(2) == 0, Corrupt: 0.05 * r.Float64()}
	w.Link(routers[0], routers[1], wide)
	home := w.NAT("home", NATConfig{OpenFilter: r.IntN(2) == 0})
	w.Link(home, routers[r.IntN(2)], n.path())
	for i := range 2 + r.IntN(3) {
		h := w.HostWith("host"+strconv.Itoa(i), HostConfig{Configure: settings(r)})
		w.Link(h, routers[r.IntN(2)], n.path())
		n.servers = append(n.servers, h)
	}
	for i := range 1 + r.IntN(2) {
		h := home.Host("guest" + strconv.Itoa(i))
		w.Link(h, home, n.path())
		n.clients = append(n.clients, h)
	}
	return n
}

// path chooses a path that loses at most a twentieth.
func (n *network) path() Path {
	r := n.w.Rand()
	return Path{
		Delay: time.Duration(r.IntN(20)) * time.Millisecond, Jitter: time.Duration(r.IntN(5)) * time.Millisecond,
		Loss: 0.05 * r.Float64(), Duplicate: 0.02 * r.Float64(), Reorder: 0.1 * r.Float64(),
	}
}

// settings chooses the settings of a stack.
func settings(r *rand.Rand) func(*tcpip.Config) {
	c := tcp.Config{NoSACK: r.IntN(6) == 0, NoTimestamps: r.IntN(6) == 0, CongestionControl: tcp.Algorithm(r.IntN(2)), ECN: tcp.ECN(r.IntN(3))}
	run := tcpip.RunChain
	if r.IntN(4) == 0 {
		run = tcpip.RunNetwork
	}
	return func(all *tcpip.Config) { all.TCP, all.Run = c, run }
}

// twoHosts chooses a host that dials and one that it reaches.
func (n *network) twoHosts() (client, server *Host) {
	r := n.w.Rand()
	server = n.servers[r.IntN(len(n.servers))]
	all := append(append([]*Host(nil), n.servers...), n.clients...)
	for client = server; client == server; client = all[r.IntN(len(all))] {
	}
	return client, server
}
