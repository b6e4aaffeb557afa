// Package tcpip is a TCP/IP stack in user space: a host of its own, on a TAP device or in memory.
//
//	s, err := tcpip.New(tcpip.Config{Link: tap, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
//	l, err := s.Listen("tcp", ":80")
//	http.Serve(l, handler)
//
// What it gives are the net package's: net.Conn, net.Listener and net.PacketConn, with deadlines
// and errors that errors.Is knows.
//
// # The network
//
// A packet on its way up goes through layers, which deal it to the next layer by what it is
// (layers.go):
//
//	link's queue ──> reader ──> ethernet ──> arp ─────────────> neighbours
//	                               │
//	                               ├··> ListenEther
//	                               └──> ipv4 ──> fragments ──┐ (whole)
//	                                     │                   │
//	                                     ├··> ListenIP <·····┤
//	                                     ├──> icmp <─────────┤  ··> echo | errors, for tcp and udp | Ping
//	                                     ├──> udp <──────────┤  ··> a socket's queue ··> application
//	                                     └──> tcp <──────────┘  ··> connections ··> application
//	                                           │
//	                                           └ once a batch is through ──> link's queue
//
// An arrow of a line is an edge of a net of package flow (network.go), which takes packets in
// batches: what one read of the queue has given, 1 to 32 packets, or of that what goes one way. A
// dotted arrow is a call. Config.Run says how the edges are:
//
//	RunChain, the default         An edge is a call. All is done in the goroutine that reads the link's queue; nothing waits in an edge.
//	RunNetwork, the paper's way   Each of the seven layers has a goroutine of its own, a packet dealer, and an edge has room for 64
//	                              batches. All edges into a layer are one queue: 64 before ethernet, arp, ipv4 and fragments, 128
//	                              before icmp, udp and tcp. What finds no room is dropped, and counted: DropEthernetQueue to DropTCPQueue.
//
// Either way a reader has one batch under way, and reads again when all of it is through: the
// frames lie in the queue's own buffers, and what comes meanwhile waits in the device, which drops
// when it is full, and counts that: a pair and the loopback in link.Counters, a TAP device where
// the kernel does (ip -s link, TX dropped). There is a reader for each queue of the link and one
// for the loopback; their batches are dealt with side by side. A reader waits for dealers, and
// dealers, who write to the loopback and so come before its reader, wait for nobody: no cycle
// waits.
//
// A connection is a pure state machine (package tcp) under a lock of its own: the tcp layer hands
// it segments, the application bytes, and whoever did lets it send what is then due, from its own
// goroutine, straight to the link. Acknowledgments are sent when a batch is through, so one stands
// for all segments of the batch. Stack.Topology is the net as it runs, with what has passed each
// edge, for package flow/draw.
//
// # Goroutines
//
//	who                        how many                                   until
//	reader (lane.go)           one for each queue of a link and loopback  its link is closed
//	packet dealer (network.go) seven by RunNetwork, none by RunChain      the net has come to rest
//
// A reader also runs the timers of its connections, asks again for neighbours, gives up fragments,
// and calls the sessions of Serve. Nothing else has a goroutine: the application's calls do what
// they are for in its own. To be woken is all that an application waits for.
//
// # Ownership, in the order of locks
//
// Who has a batch owns it and its lane's list of connections that have to answer: the reader, and
// by RunNetwork the dealer that it has come to. A connection's lock guards its state; behind it
// come those of the neighbours, of paths, and of the lane's timers. The tables' locks (connections,
// listeners, sockets) are leaves, held for a lookup.
//
// # When something is full
//
// Nothing on the way up waits: a queue that is full drops, and the drop is counted by its reason
// (drops.go). A peer that sends faster than the application reads closes its own window. All
// buffers together are bounded by Config.Memory.
//
// # Stop
//
// Close, in this order: connections are reset, and every call that waits returns net.ErrClosed;
// links are closed, and with that their readers end, each once the batch that it has under way is
// through and the sessions of Serve that are left are told; the net comes to rest, and the dealers
// end, within a second. Then Close returns, and no goroutine is left. A link that is gone before
// that ends its readers, and the connections that were theirs by ECONNABORTED, with their sessions.
//
// # Limitations
//
// IPv4 only, no multicast, no forwarding, no DHCP; addresses and routes are those it is made with.
// Of virtual networks (802.1Q) it is in none: a tag is taken when it says a priority only.
package tcpip
