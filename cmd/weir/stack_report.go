package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"weir/tcpip"
	"weir/tcpip/dhcp"
	"weir/tcpip/host"
	"weir/tcpip/link"
)

// This file has what weir stack up and weir serve --stack say about their host.

// hostIsUp prints the links and services of a host, and how to reach it.
func (t *terminal) hostIsUp(h *host.Host, c *host.Config) {
	say := func(format string, args ...any) { fmt.Fprintf(t.err, "weir: "+format+"\n", args...) }
	for n, caps := range h.Caps() {
		t.linkIsUp(&c.Links[n], &caps, n == 0, say)
	}
	for n := range c.Links {
		l := &c.Links[n]
		on := ""
		if len(c.Links) > 1 {
			on = " on " + l.Name
		}
		if c.Setup {
			for _, kernel := range l.KernelAddrs() {
				say("this machine is %s to it%s", kernel.Addr(), on)
			}
		}
		if l.Bridge != "" {
			say("%s is bridged to %s: other machines reach the host", l.Name, l.Bridge)
		}
	}
	for _, s := range c.Services {
		say("%s on %s", s.Name, serviceAddr(c, s))
	}
	switch {
	case c.CaptureLink != "":
		say("frames of %s are captured into %s", c.CaptureLink, c.Capture)
	case c.Capture != "":
		say("frames are captured into %s", c.Capture)
	}
	if i, err := h.Impairments(""); err == nil && i != "off" {
		say("frames are impaired: %s", strings.ReplaceAll(i, "\n", "; "))
	}
	say("try: %s; Ctrl-C ends it", whatToTry(c))
}

// linkIsUp prints the addresses of a link.
func (t *terminal) linkIsUp(l *host.Link, caps *link.Caps, first bool, say func(string, ...any)) {
	name := "with an address by DHCP"
	switch {
	case len(l.Addrs) > 0:
		name = l.Addrs[0].Addr().String()
	case !l.DHCP:
		name = "with an address from routers"
	}
	state := fmt.Sprintf("MTU %d, offloads %s", caps.MTU, map[bool]string{true: "on", false: "off"}[caps.Superframe > 0])
	if l.Medium == link.IP {
		state = "TUN, " + state
	}
	if l.Metric > 0 {
		state += fmt.Sprintf(", metric %d", l.Metric)
	}
	if first {
		say("the host %s is up on %s (%s)", tint(t.errTTY && os.Getenv("NO_COLOR") == "", green, name), l.Name, state)
	} else {
		say("it is %s on %s (%s)", name, l.Name, state)
	}
	for _, more := range l.Addrs[min(1, len(l.Addrs)):] {
		say("it is %s too", more.Addr())
	}
}

// probing prints that an address conflict is probed for, if a link has an address.
func (t *terminal) probing(links []host.Link) {
	var all []string
	for _, l := range links {
		for _, a := range l.Addrs {
			all = append(all, a.String())
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(t.err, "weir: probing for an address conflict on %s, for some seconds\n", strings.Join(all, " and "))
	}
}

// serviceAddr returns the address of a service for people.
func serviceAddr(c *host.Config, s host.Service) string {
	addrs := c.Links[0].Addrs
	if len(addrs) == 0 {
		return fmt.Sprintf("port %d", s.Port)
	}
	where := netip.AddrPortFrom(addrs[0].Addr(), s.Port).String()
	if s.Name == "files" {
		return "http://" + strings.TrimSuffix(where, ":80") + "/"
	}
	return where
}

// whatToTry returns commands that reach the host.
func whatToTry(c *host.Config) string {
	l := &c.Links[0]
	switch {
	case len(l.Addrs) == 0:
		return "weir stack netstat"
	case l.Bridge != "" && len(l.Peers) == 0: // this machine has no address there
		return fmt.Sprintf("ping %s from another machine, weir stack netstat", l.Addrs[0].Addr())
	case c.Namespace != "":
		return fmt.Sprintf("ip netns exec %s ping %s, weir stack netstat", c.Namespace, l.Addrs[0].Addr())
	}
	return fmt.Sprintf("ping %s, weir stack netstat", l.Addrs[0].Addr())
}

// dhcp returns a function that reports what DHCP has changed, with the name of the link if the host
// has several.
func (t *terminal) dhcp(several bool) func(string, dhcp.Event) {
	return func(link string, e dhcp.Event) {
		switch {
		case e.Kind == dhcp.Renewed:
		case several:
			fmt.Fprintf(t.err, "weir: %s: %v\n", link, e)
		default:
			fmt.Fprintf(t.err, "weir: %v\n", e)
		}
	}
}

// conflict reports that another machine uses the host's address.
func (t *terminal) conflict(with tcpip.Conflict) {
	so := "give one of them another address"
	if with.Lost {
		so = "it was given up here"
	}
	fmt.Fprintf(t.err, "weir: address conflict: %s is used by %s too: %s\n", with.Addr, with.By, so)
}
