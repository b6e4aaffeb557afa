// Package wire reads and writes the headers of packets: Ethernet II with 802.1Q tags, ARP, IPv4,
// ICMPv4, UDP and TCP.
//
// A header is read through a view: a slice of the packet's own bytes, with the header at its begin
// and what it carries behind it. A Parse function checks every length that the accessors rely on
// and gives the view, cut to the length that the header claims; from then on no accessor can fail,
// allocates or copies. What is wrong with a packet is a [Fault], which can be compared, counted by
// and told to people. Checksums are not checked by parsing, since a device may have done so: the
// views' ChecksumOK does.
//
// A header is written by an Append function, which appends it to a slice, as append does, and
// computes its checksum.
//
// Nothing here keeps state, reads a clock or knows a device. Everything may be used by any number
// of goroutines as long as nobody changes the bytes meanwhile.
//
// # Limitations
//
// IPv6 is not read. The checksums and the Sum are ready for it: a pseudo-header takes addresses of
// either kind. Of IPv4's options only the frame is checked; of ICMP the body is left as it is.
package wire
