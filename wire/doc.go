// Package wire reads and writes the headers of packets: Ethernet II with 802.1Q tags, ARP, IPv4,
// ICMPv4, IGMP, IPv6 with its extension headers, ICMPv6, neighbour discovery, MLD, UDP and TCP.
//
// A view reads a header: a slice of the packet's own bytes that starts with the header and
// continues with the payload. A Parse function checks each length that the accessors rely on and
// returns the view, cut to the length in the header. After that no accessor can fail, allocate or
// copy. A [Fault] says what is wrong with a packet; faults can be compared, counted and printed.
// Parsing does not check checksums, because a device may have done so: the ChecksumOK methods do.
//
// An Append function writes a header: it appends it to a slice, as append does, with its checksum.
//
// The package has no state, clock or device. Any number of goroutines may read the same packet
// while none changes its bytes.
//
// # Limitations
//
// Only the lengths of IPv4 options are checked. The packet that an ICMP error quotes is not
// interpreted.
package wire
