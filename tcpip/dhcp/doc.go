// Package dhcp configures a link of a stack by DHCP: an address that is leased and renewed (RFC
// 2131), and for IPv6, where router advertisements ask for it, name servers (stateless DHCPv6, RFC
// 8415, section 6.1). It is not part of package tcpip, so that only programs that use it have it.
//
//	s, err := tcpip.New(tcpip.Config{Link: tap})
//	c, err := dhcp.New(dhcp.Config{Stack: s, OnEvent: func(e dhcp.Event) { log.Print(e) }})
//	err = c.Run(ctx)
//
// Each client is a pure state machine (machine.go, stateless_machine.go), driven by the one
// goroutine that calls Run: messages and times in, messages and configuration out. Packets are read
// and written by github.com/insomniacslk/dhcp.
//
// A network can be hostile: at most 16 messages wait to be read, the first valid offer is the only
// one that is answered, what a lease may hold is limited and checked (lease.go), search lists are
// read within limits (options.go), and a server that refuses again and again is asked at growing
// intervals. Any host on the link can still refuse a lease, or give a false one: DHCP does not
// authenticate servers.
//
// # Limitations
//
// The first valid offer is accepted, without a comparison with later ones, unless its server has
// just failed to acknowledge another one. The first message is delayed by up to 1 s, not the 1 to
// 10 s of RFC 2131, section 4.4.1. There is no DHCPINFORM, no authentication (RFC 3118), and no
// DHCPv6 for addresses. Search lists are reported, and not used.
package dhcp
