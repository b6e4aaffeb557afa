// Package nat is a user-mode network: a stack that is the gateway of a link, and passes what hosts
// on the link send on by ordinary sockets of this process. So a container, a network namespace or a
// virtual machine reaches the network without any privilege of this process.
//
// # What passes
//
//   - TCP to any address. The handshake waits for the connection onward, so that the client sees
//     connection refused, unreachable and timeouts as the far end gave them; both directions end
//     separately.
//   - UDP to any address: a socket onward for each pair of addresses and ports, until nothing has
//     passed for two to four minutes. A refused datagram is reported to its sender.
//   - ICMP echo, by sockets that the kernel allows to members of net.ipv4.ping_group_range. For
//     others, hosts are unreachable.
//   - DNS: queries to the gateway go to the servers of the configuration.
//   - Connections in: see [Config.Publish].
//
// The gateway serves DHCP, and announces its IPv6 network by router advertisements, with the name
// server and the MTU.
//
// # Access
//
// Loopback and link-local addresses of this machine, and with them the metadata services of clouds,
// are not reached, unless [Config.Loopback] gives them another address. [Config.Deny] adds
// networks. The decision is made on the address that would be dialed. IPv4 addresses within IPv6
// ones count too: of NAT64, 6to4, Teredo, ISATAP, and mapped ones. Other addresses of this machine
// are reached as from its network, and with them what listens at all addresses. Deny them to a
// guest that is not trusted.
//
// # Goroutines
//
// On Linux the goroutine that reads the link also reads and writes the sockets onward: a device of
// one queue needs no other one. A link that cannot wait for a descriptor has one goroutine more,
// which waits for the sockets. With [Config.Dial], and on other systems, a connection has up to
// three goroutines, and a UDP flow two. Others serve DNS, DHCP, advertisements and published ports.
// Close ends all of them.
//
// # Limitations
//
// Groups and broadcasts are not passed on, nor to broadcast addresses of this machine's networks;
// with a [Config.Dial] that returns no socket of package net, and on Windows, that is not checked.
// Fragments are reassembled first. Servers behind the gateway see its address as the client's.
// There is no DHCPv6. Flows are limited for each address of a host. A host chooses its addresses:
// one that uses many takes the share of as many. So it is with DHCP: one host can lease all
// addresses under many hardware addresses. Then leases are short, and the addresses are free again
// 10 minutes after it stops.
package nat
