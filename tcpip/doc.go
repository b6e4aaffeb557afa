// Package tcpip is a TCP/IP stack in user space: a host of its own, on a TAP device or in memory.
//
//	addr := netip.MustParsePrefix("10.0.0.2/24")
//	s, err := tcpip.New(tcpip.Config{Link: tap, Addrs: []netip.Prefix{addr}})
//	l, err := s.Listen("tcp", ":80")
//	http.Serve(l, handler)
//
// Its connections, listeners and sockets implement net.Conn, net.Listener and net.PacketConn, with
// deadlines and with errors for errors.Is.
//
// # The receive path
//
// A received packet passes through layers. Each layer demultiplexes packets to the next one
// (layers.go):
//
//	link's queue ··> reader ──> ethernet ──> arp ─────────────> neighbours
//	                               │
//	                               ├··> ListenEther
//	                               ├──> ipv4 ──> fragments ──┐ (whole)
//	                               └──> ipv6 ──> fragments ──┤
//	                                     │                   │
//	                                     ├··> ListenIP <·····┤
//	                                     ├──> icmp <─────────┤  ··> echo | errors | groups | Ping
//	                                     ├──> udp <──────────┤  ··> socket ··> application
//	                                     └──> tcp <──────────┘  ··> connections ··> application
//	                                           │
//	                                           └ at the end of a batch ··> link's queue
//
// A solid arrow is an edge of the stack's flow graph, a net of package flow (network.go). An edge
// carries packets in batches: the 1 to 32 packets of one read of the queue, or those of them that
// go to the same layer. A dotted arrow is a call. Config.Run chooses the concurrency model of the
// edges:
//
//   - RunChain, the default: an edge is a call. All work is done in the goroutine that reads the
//     link's queue.
//   - RunNetwork: each of the eight layers has a goroutine of its own, the layer goroutine, and
//     each edge is a queue of 64 batches. The edges into a layer share one queue: 64 batches before
//     ethernet, arp, ipv4 and ipv6, 128 before fragments, 192 before icmp, udp and tcp. A full
//     queue drops packets and counts them: DropEthernetQueue to DropTCPQueue.
//
// In both models a reader has one batch in flight, and reads again when all of it is finished: the
// frames lie in the queue's own buffers. Frames that arrive meanwhile wait in the device. A full
// device drops and counts them: the loopback and the links of link.Pair in link.Counters, a TAP
// device in the kernel (ip -s link, TX dropped). Each queue of the link has a reader, and so has
// the loopback; readers run in parallel. There is no deadlock: readers wait for layer goroutines,
// and those never block, even when they write to the loopback (a full queue drops).
//
// A connection is a pure state machine (package tcp) under a lock of its own. The tcp layer gives
// it segments, the application gives it data. Each caller then sends what is due, from its own
// goroutine, directly to the link. Acknowledgments are sent at the end of a batch, so that one
// covers all segments of the batch. Stack.Topology returns the flow graph with its counters, for
// package flow/draw.
//
// Stack.Serve runs a session for each connection to an address, instead of a goroutine: a state
// machine that the connection's reader calls (package serve).
//
// # Goroutines
//
//	goroutine                    how many                               until
//	reader (reader.go)           one per link queue, one per loopback   its link is closed
//	layer goroutine (network.go) eight with RunNetwork, else none       the flow graph has stopped
//
// A reader also runs the timers of its connections, retries ARP requests, expires fragments, and
// calls the sessions of Serve. There are no other goroutines: calls of the application do their
// work in its own goroutine, and otherwise wait to be woken.
//
// # Ownership and lock order
//
// A batch belongs to its reader, and with RunNetwork to the layer goroutine that has it. The list
// of connections that must acknowledge the batch belongs to the same goroutine. A connection's lock
// guards its state. Under it, the locks of neighbours, of paths and of the reader's timers may be
// taken. The locks of the tables (connections, listeners, sockets) are leaves, held for a lookup,
// and so is that of a ReadyQueue. The lock of the configuration (configMu) is taken before all
// others. That of an interface's groups is taken before those of a socket's memberships and of
// neighbours.
//
// # Overload
//
// The receive path never blocks: a full queue drops, and the drop is counted by reason (drops.go).
// If a peer sends faster than the application reads, our receive window closes. Config.Memory
// limits all buffers together.
//
// # Other addresses
//
// Stack.Forward hands connections and datagrams to addresses that are not the stack's to a
// function, as a user-mode network, a tunnel or a proxy needs it: the function accepts them or
// answers with the error that the far end gave.
//
// # Multicast
//
// A UDP socket receives datagrams for the groups that it has joined itself, on the links on which
// it has joined them (UDPConn.JoinGroup, Stack.ListenMulticastUDP). A datagram for a group leaves
// by one link, and is copied to members on the stack itself by the loopback. Package multicast
// reports the groups to routers and switches. A link with an IPv6 address always has such reports:
// of the group that neighbours send solicitations of the address to.
//
// # Close
//
// Close does this, in order:
//
//  1. Connections are reset, and every waiting call returns net.ErrClosed.
//  2. Links are closed. Each reader finishes its batch, closes the sessions of Serve that are left,
//     and ends.
//  3. The flow graph drains, and the layer goroutines end, within a second.
//
// Then no goroutine is left. If a link closes by itself, its readers end too, and their connections
// and sessions fail with ECONNABORTED.
//
// # Limitations
//
// DHCP is in package dhcp. A raw socket joins no groups. Packets are not routed from one link to
// another. The stack is in no virtual network (802.1Q): it accepts priority tags only.
package tcpip
