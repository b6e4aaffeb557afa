// Package tcpip is a TCP/IP stack in user space: a host of its own, on a TAP device or in memory.
//
//	s, err := tcpip.New(tcpip.Config{Link: tap, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
//	l, err := s.Listen("tcp", ":80")
//	http.Serve(l, handler)
//
// What it gives are the net package's: net.Conn, net.Listener and net.PacketConn, with deadlines and errors that errors.Is knows.
//
// # The network
//
// A packet on its way up, in the goroutine that reads the link's queue (lane.go, layers.go); every arrow is a call:
//
//	link.Queue ──> ethernet ──> arp ──────────────────────> neighbours
//	                  │
//	                  ├──> ListenEther
//	                  └──> ipv4 ──> fragments ──┐
//	                         ├<─────────────────┘
//	                         ├──> ListenIP
//	                         ├──> icmp ──> echo | errors ──> tcp, udp
//	                         ├──> udp ───> socket's queue ··> application
//	                         └──> tcp ───> connection ──────> application
//	                                          │ once a batch is through
//	                                          └──> link.Queue
//
// The dotted arrow and the last but one wake a goroutine of the application's; nothing else does. A connection is a pure state machine (package
// tcp) under a lock of its own: the reader hands it segments, the application bytes, and whoever did lets it send what is then due, from its own
// goroutine, straight to the link. Acknowledgments are sent when a batch is through, so one stands for all segments of the batch.
//
// # Ownership, in the order of locks
//
// The goroutine of a lane owns its batch and its list of connections that have to answer. A connection's lock guards its state; behind it come those of the neighbours, of
// paths, and of the lane's timers. The tables' locks (connections, listeners, sockets) are leaves, held for a lookup.
//
// # When something is full
//
// Nothing on the way up waits: a queue that is full drops, and the drop is counted by its reason (drops.go). A peer that sends faster than the application reads
// closes its own window. All buffers together are bounded by Config.Memory.
//
// # Stop
//
// Close resets every connection, ends every wait by net.ErrClosed, closes the links, and returns when their readers have ended.
//
// # Limitations
//
// IPv4 only, no multicast, no forwarding, no DHCP; addresses are those it is given.
package tcpip
