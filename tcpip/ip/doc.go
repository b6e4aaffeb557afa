// Package ip is IPv4 between the link and what it carries (RFC 791, RFC 1122, RFC 1191): fragments
// put together and made, routes, and what is known of paths. It is pure: packets and times go in,
// packets and deadlines come out.
//
// # Limitations
//
// IPv4 only. Nothing is forwarded. Each value has one owner at a time.
package ip

// Time is a moment on an axis of the driver's, in ns; zero is none.
type Time int64
