// Package ndp is the host's part of IPv6 autoconfiguration, as a pure state machine: router
// advertisements and times in; addresses, routes, name servers and the next deadline out (RFC 4861,
// section 6.3; RFC 4862, section 5.5; RFC 8106; RFC 4191). Each prefix gets a stable address (RFC
// 7217) and, if wanted, temporary ones (RFC 8981). Routers that answer are preferred to others.
// Package neigh resolves neighbours and detects duplicate addresses.
//
// Routers, prefixes, routes and name servers that a stranger on the link can announce are limited
// in number: when all places are taken, further ones replace those that have not been heard for a
// minute, or for an hour if they were repeated, but never the first half (limits.go).
//
// # Limitations
//
// Advertisements have no authentication: any host on the link can send them. So it can become the
// default router by a high preference, or end what another router has announced by a lifetime of
// zero, and for an hour it can keep a router out that comes after it. DNS search lists are not
// used. Temporary addresses are made for all prefixes or for none.
package ndp
