package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/internal/suggest"
	"weir/tcpip/host"
	"weir/tcpip/link"
)

// This file turns the flags of weir stack up into the links of the host, its routes, and what
// applies to one link by its name.

// linkSettings are the settings of --link.
var linkSettings = []string{"addr", "peer", "mtu", "metric", "bridge", "tun"}

// linkForm shows the form of --link.
const linkForm = "weir1,addr=10.1.0.2/24,mtu=1400,metric=100"

// links returns the links: that of --tap first, and those of --link.
func (c *stackUpCmd) links() ([]host.Link, error) {
	first := host.Link{Name: c.Tap, MTU: c.MTU, Metric: c.Metric, Bridge: c.Bridge}
	var err error
	if err = setAddrs(&first, "--addr", c.Addr); err != nil {
		return nil, err
	}
	if first.Peers, err = prefixes("--peer", c.Peer); err != nil {
		return nil, err
	}
	all := []host.Link{first}
	for _, text := range c.Link {
		l, err := parseLink(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--link %s: %w", text, err)}
		}
		if slices.ContainsFunc(all, func(o host.Link) bool { return o.Name == l.Name }) {
			return nil, usageError{fmt.Errorf("--link %s: the host has a link %s already: name another device", text, l.Name)}
		}
		all = append(all, l)
	}
	for i := range all {
		if err := c.checkLink(&all[i]); err != nil {
			return nil, usageError{err}
		}
		all[i].Temporary = c.Temporary && (all[i].DHCP || all[i].Autoconf)
	}
	if c.Temporary && !slices.ContainsFunc(all, func(l host.Link) bool { return l.Temporary }) {
		return nil, usageError{errors.New("--temporary needs addresses from routers: add --addr auto, or --addr dhcp")}
	}
	return all, nil
}

// parseLink parses a --link: the name of a device, and settings.
func parseLink(text string) (l host.Link, err error) {
	parts := strings.Split(text, ",")
	if l.Name = strings.TrimSpace(parts[0]); l.Name == "" || strings.Contains(l.Name, "=") {
		return l, fmt.Errorf("the name of the device is missing: write it first, as in %s", linkForm)
	}
	settings := map[string][]string{}
	for _, part := range parts[1:] {
		name, value, valued := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !slices.Contains(linkSettings, name):
			return l, fmt.Errorf("there is no setting %q: use addr, peer, mtu, metric, bridge or tun%s", name, suggest.DidYouMean(name, linkSettings))
		case name == "tun" && valued:
			return l, errors.New("tun has no value: write tun alone, as in weir1,tun,addr=10.1.0.2/24")
		case name != "tun" && value == "":
			return l, fmt.Errorf("%s has no value: write it as in %s", name, linkForm)
		case name != "addr" && name != "peer" && settings[name] != nil:
			return l, fmt.Errorf("%s is given twice: leave one out", name)
		}
		settings[name] = append(settings[name], value)
	}
	if settings["tun"] != nil {
		l.Medium = link.IP
	}
	l.Bridge = strings.Join(settings["bridge"], "")
	if l.MTU, err = positive("mtu", settings["mtu"]); err != nil {
		return l, err
	}
	if l.Metric, err = positive("metric", settings["metric"]); err != nil {
		return l, err
	}
	if len(settings["addr"]) == 0 {
		return l, errors.New("the link has no address: add addr=10.1.0.2/24, addr=dhcp or addr=auto")
	}
	if err = setAddrs(&l, "addr", settings["addr"]); err != nil {
		return l, err
	}
	l.Peers, err = prefixes("peer", settings["peer"])
	return l, err
}

// positive parses the number of a setting; 0: it is not given.
func positive(name string, values []string) (n int, err error) {
	for _, value := range values {
		if n, err = strconv.Atoi(value); err != nil || n < 1 {
			return 0, fmt.Errorf("%s is %q: write a positive number", name, value)
		}
	}
	return n, nil
}

// setAddrs gives a link its addresses, or says where it gets them.
func setAddrs(l *host.Link, flag string, texts []string) (err error) {
	static := slices.DeleteFunc(slices.Clone(texts), func(a string) bool { return a == "dhcp" || a == "auto" })
	l.DHCP, l.Autoconf = slices.Contains(texts, "dhcp"), slices.Contains(texts, "auto")
	l.Addrs, err = prefixes(flag, static)
	return err
}

// checkLink returns an error for settings that do not go together.
func (c *stackUpCmd) checkLink(l *host.Link) error {
	switch {
	case !c.Setup && (len(l.Peers) > 0 || l.Bridge != ""):
		return errors.New("--peer and --bridge need --setup, as do peer and bridge of --link: add it")
	case l.Bridge != "" && l.Medium == link.IP:
		return fmt.Errorf("--link %s: a TUN device cannot join a bridge: leave tun or bridge out", l.Name)
	case l.DHCP && l.Medium == link.IP:
		return fmt.Errorf("--link %s: there is no DHCP on a TUN device: leave tun out, or give it an address", l.Name)
	case c.Setup && l.Bridge == "" && len(l.Addrs) > 0 && len(l.KernelAddrs()) == 0:
		return fmt.Errorf("the network of %s has no address for this machine: give a larger network, such as %s/24, or --peer", l.Addrs[0], l.Addrs[0].Addr())
	}
	return nil
}

// gateways parses the default routers.
func (c *stackUpCmd) gateways() (all []netip.Addr, err error) {
	for _, g := range c.Gateway {
		router, err := netip.ParseAddr(g)
		if err != nil {
			return nil, usageError{fmt.Errorf("--gateway is %q: write an address, such as 10.0.0.1 or fe80::1%%weir1", g)}
		}
		all = append(all, router)
	}
	return all, nil
}

// routes parses the further routes.
func (c *stackUpCmd) routes() (all []host.StaticRoute, err error) {
	for _, text := range c.Route {
		to, by, _ := strings.Cut(text, "=")
		r := host.StaticRoute{}
		if r.To, err = netip.ParsePrefix(to); err != nil || r.To != r.To.Masked() || by == "" {
			return nil, usageError{fmt.Errorf("--route is %q: write a network and a router or a link, such as 192.0.2.0/24=10.1.0.1 or 192.0.2.0/24=weir1", text)}
		}
		if r.Via, err = netip.ParseAddr(by); err != nil {
			r.Via, r.Link = netip.Addr{}, by
		}
		all = append(all, r)
	}
	return all, nil
}

// setImpairments sets the impairments of the links, from texts as loss=1%, for all, and
// weir1:loss=1%, for one.
func setImpairments(links []host.Link, texts []string) error {
	for _, text := range texts {
		name, spec, named := strings.Cut(text, ":")
		if !named {
			name, spec = "", text
		}
		i, err := host.ParseImpairment(spec)
		if err != nil {
			return usageError{err}
		}
		found := !named
		for n := range links {
			if !named || links[n].Name == name {
				links[n].Impair, found = i, true
			}
		}
		if !found {
			return usageError{fmt.Errorf("--impair %s: there is no link %q: use %s", text, name, linkNames(links))}
		}
	}
	return nil
}

// linkNames returns the names of links, for people.
func linkNames(links []host.Link) string {
	var all []string
	for _, l := range links {
		all = append(all, l.Name)
	}
	return strings.Join(all, " or ")
}

// captureOf returns the file and the link of --pcap: FILE, or LINK:FILE.
func captureOf(text string, links []host.Link) (file, name string) {
	before, after, ok := strings.Cut(text, ":")
	if ok && after != "" && slices.ContainsFunc(links, func(l host.Link) bool { return l.Name == before }) {
		return after, before
	}
	return text, ""
}
