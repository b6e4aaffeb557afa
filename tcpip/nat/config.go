package nat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
)

// Config configures a user-mode network. The zero value of a field means its default.
type Config struct {
	Link link.Link // New takes it over, also if it fails
	// addresses of the gateway with the networks' lengths, at most one for each version of IP.
	// Default 10.0.2.2/24 and fd00:2::2/64
	Gateway []netip.Prefix
	// first IPv4 address that DHCP gives to hosts; the next ones follow. Default: that of the
	// network plus 100 (10.0.2.100), or the one after the gateway's in small networks
	Guest netip.Addr
	DNS   []netip.AddrPort // servers for queries to the gateway; none, and no Hosts: no DNS
	// names that the gateway itself has addresses for, in lower case and without a dot at the end.
	// Queries by TCP go to the servers
	Hosts map[string][]netip.Addr
	// connects onward; network is "tcp" or "udp". Default: a net.Dialer
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// addresses outside the networks that stand for this machine's loopback addresses, at most one
	// for each version of IP; none: what listens there is not reached
	Loopback []netip.Addr
	// networks that are not reached, beside those of the package comment
	Deny    []netip.Prefix
	Publish []Publish
	NoEcho  bool // answer pings as unreachable
	// limit of connections and UDP flows together. One host may have as many as are left free for
	// others, and all clients of published ports half of them. Default 16,384
	Flows int
	Log   *slog.Logger // gets what fails for reasons of this machine; default: none
	// of the gateway's stack; Link and Addrs are set here
	Stack tcpip.Config
}

// Publish makes a port of a host on the link reachable by a port of this machine.
type Publish struct {
	Network string         // "tcp" or "udp"
	Listen  netip.AddrPort // at this machine
	// at the host; its address may be invalid: that of Guest
	To netip.AddrPort
}

const (
	dialTimeout = 30 * time.Second
	udpIdle     = 2 * time.Minute // RFC 4787, REQ-5
)

// defaultGateway are the default networks.
var defaultGateway = []netip.Prefix{netip.MustParsePrefix("10.0.2.2/24"), netip.MustParsePrefix("fd00:2::2/64")}

// alwaysDenied are networks that are not reached: this machine itself, links of this machine with
// the metadata services of clouds, those services by their other addresses, and broadcasts.
var alwaysDenied = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("::/127"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("192.0.0.192/32"),
}

// withDefaults returns the complete configuration.
func (c Config) withDefaults() (Config, error) {
	if len(c.Gateway) == 0 {
		c.Gateway = defaultGateway
	}
	if c.Flows == 0 {
		c.Flows = 16384
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dial == nil {
		c.Dial = dialNet
	}
	if c.Flows < 0 {
		return c, fmt.Errorf("nat: %d flows: allow 1 or more, or 0 for the default", c.Flows)
	}
	for i, g := range c.Gateway {
		if !g.IsValid() || slices.ContainsFunc(c.Gateway[:i], func(o netip.Prefix) bool { return o.Addr().Is4() == g.Addr().Is4() }) {
			return c, fmt.Errorf("nat: the gateway's addresses are %v: give at most one for each version of IP, with its length", c.Gateway)
		}
	}
	for _, a := range c.Loopback {
		if !a.IsValid() || a.IsMulticast() || a.Is4In6() || slices.ContainsFunc(c.Gateway, func(g netip.Prefix) bool { return g.Contains(a) }) {
			return c, fmt.Errorf("nat: %v cannot stand for this machine: choose an address outside %v, such as 192.0.2.1", a, c.Gateway)
		}
	}
	c.Deny = slices.Clone(c.Deny)
	for i, p := range c.Deny {
		if !p.IsValid() {
			return c, fmt.Errorf("nat: number %d of the denied networks is none: write an address and a length, such as 10.0.0.0/8", i+1)
		}
		c.Deny[i] = unmapPrefix(p)
	}
	return c.withGuest()
}

// withGuest sets the first address of hosts.
func (c Config) withGuest() (Config, error) {
	g := c.gateway(true)
	if !g.IsValid() {
		c.Guest = netip.Addr{}
		return c, c.checkPublish()
	}
	if !c.Guest.IsValid() {
		if c.Guest = g.Addr().Next(); g.Bits() <= 24 {
			b := g.Masked().Addr().As4()
			b[3] += 100
			c.Guest = netip.AddrFrom4(b)
		}
	}
	if !g.Contains(c.Guest) || c.Guest == g.Addr() {
		return c, fmt.Errorf("nat: hosts begin at %v, which is not another address in the gateway's network %v: choose one of it", c.Guest, g)
	}
	return c, c.checkPublish()
}

// Guests returns the addresses of the first host on the link, with its networks' lengths: what DHCP
// gives it, and the address with the same last byte of the IPv6 network.
func (c Config) Guests() (all []netip.Prefix, err error) {
	if c, err = c.withDefaults(); err != nil {
		return nil, err
	}
	last := byte(100)
	if g := c.gateway(true); g.IsValid() {
		all = append(all, netip.PrefixFrom(c.Guest, g.Bits()))
		last = c.Guest.As4()[3]
	}
	if g := c.gateway(false); g.IsValid() {
		b := g.Masked().Addr().As16()
		if b[15] = last; netip.AddrFrom16(b) == g.Addr() {
			b[15]++
		}
		all = append(all, netip.PrefixFrom(netip.AddrFrom16(b), g.Bits()))
	}
	return all, nil
}

// Gateways returns the gateway's addresses.
func (c Config) Gateways() (all []netip.Addr) {
	if len(c.Gateway) == 0 {
		c.Gateway = defaultGateway
	}
	for _, g := range c.Gateway {
		all = append(all, g.Addr())
	}
	return all
}

// gateway returns the gateway's address by a version of IP; zero: it has none.
func (c *Config) gateway(is4 bool) netip.Prefix {
	for _, g := range c.Gateway {
		if g.Addr().Is4() == is4 {
			return g
		}
	}
	return netip.Prefix{}
}

func (c *Config) checkPublish() error {
	for i, p := range c.Publish {
		if p.Network != "tcp" && p.Network != "udp" || !p.Listen.IsValid() || p.To.Port() == 0 {
			return fmt.Errorf("nat: publish of %s from %v to %v: write tcp or udp, an address and port of this machine, and a port of the host", p.Network, p.Listen, p.To)
		}
		if !p.To.Addr().IsValid() {
			c.Publish[i].To = netip.AddrPortFrom(c.Guest, p.To.Port())
		}
		if !c.Publish[i].To.Addr().IsValid() {
			return errors.New("nat: publish needs the host's address: there is no IPv4 network, which would give it")
		}
	}
	return nil
}

// onward returns the address to dial for one that a host has sent to, and whether it may.
func (c *Config) onward(to netip.AddrPort) (netip.AddrPort, bool) {
	if slices.Contains(c.Loopback, to.Addr()) {
		own := netip.IPv6Loopback()
		if to.Addr().Is4() {
			own = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		return netip.AddrPortFrom(own, to.Port()), true
	}
	return to, !c.isDenied(to.Addr())
}

// dialNet connects by a socket of this machine.
func dialNet(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, to.String())
}
