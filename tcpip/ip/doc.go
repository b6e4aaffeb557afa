// Package ip is IPv4 between the link and the transport (RFC 791, RFC 1122, RFC 1191):
// fragmentation and reassembly, routes, and path MTUs. It is pure: packets and times go in, packets
// and deadlines come out.
//
// # Limitations
//
// IPv4 only. Packets are not forwarded. Each value has one owner at a time.
package ip

// Time is a time on the driver's clock, in ns; zero is none.
type Time int64
