// Package fabric is a virtual IP network in one process: hosts, switches, routers and NATs, joined
// by links that delay, lose, duplicate, reorder and corrupt packets.
//
//	net := fabric.New(fabric.Config{Seed: 1})
//	client, _ := net.Host("client")
//	server, _ := net.Host("server")
//	path := fabric.Path{Delay: 10 * time.Millisecond, Loss: 0.01}
//	net.Connect(client, server, path, path)
//	stack, _ := tcpip.New(tcpip.Config{
//		Link: client.Attach(), Addrs: client.Prefixes(), Routes: client.Routes(),
//	})
//
// Each host has an interface ([Node.Attach]), a [link.Link] that a stack of package tcpip takes.
// Package netsim builds worlds for tests on it, in virtual time; it also runs in real time.
//
// # Packets
//
// A packet is written by a host, crosses links, and is delivered to a host or dropped; [Event]
// reports each of these. Routers decrement the TTL and send ICMP errors (RFC 1812). Routes are
// those with the fewest links, of equal ones the one that was connected first. They do not change
// when a link loses everything: there is no routing protocol.
//
// # The same seed gives the same packets
//
// Each direction of a link has random numbers of its own, and each packet takes the same number of
// them. With [Config.Ordered], packets that hosts write at one instant of virtual time enter their
// links one nanosecond later, sorted by host and flow. Each link adds a random part of a
// microsecond to its delay, so that arrivals and the timers of programs fall on different instants,
// and no two packets are delivered at the same nanosecond. So what happens to a packet does not
// depend on the order in which the runtime ran the goroutines of that instant.
//
// # Goroutines
//
// The network has none. The goroutine of a timer moves packets, and hosts' goroutines that write.
// One lock guards all of it.
//
// # Limitations
//
// Links carry bare IP packets: there is no ARP and no neighbour discovery. NATs translate IPv4 and
// drop IPv6. Fragments do not pass a NAT. Broadcasts and multicasts end at it, those between its
// inner links too: connect the hosts there to a switch.
package fabric
