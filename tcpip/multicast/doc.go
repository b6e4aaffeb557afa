// Package multicast tells the routers of a link which groups a host belongs to, by IGMPv3 (RFC
// 3376) and MLDv2 (RFC 3810), as a pure state machine: filters, queries and times in, reports and
// the next deadline out. While an older querier is on the link, it speaks that querier's version:
// IGMPv1 and IGMPv2 (RFC 3376, section 7), MLDv1 (RFC 3810, section 8).
//
// What other hosts can cause is bounded: a query of more than [MaxSources] sources is answered as
// one without sources, one timer waits for each group, and answers have a minimum interval.
//
// # Limitations
//
// A Host has one owner at a time. It is the host's part only: there is no querier. Messages have no
// authentication: any host on the link can send queries.
package multicast
