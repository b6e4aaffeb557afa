package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir/tcpip/host"
)

type stackLinkCmd struct {
	hostFlags

	Name   string   `arg:"" optional:"" help:"The link, which has the name of its device (default: the only one)."`
	Remove []string `placeholder:"ADDR" help:"Remove this address: its connections end. May be repeated."`
	Add    []string `placeholder:"CIDR" help:"Add this address, with its prefix length. May be repeated."`
	MTU    int      `name:"mtu" placeholder:"N" help:"Largest packet that is sent, in bytes: at most the MTU that the device had when the host started."`
	JSON   bool     `name:"json" help:"Write the link, or all links, as JSON."`
}

// Help is the long part of the command's help.
func (c *stackLinkCmd) Help() string {
	return `Without a change, shows the links: of each the device, addresses, MTU, metric and impairment. A change holds until the host stops: first addresses are removed, then others are added, then the MTU is changed. The first error ends it. The kernel's side of the device stays as it is.

A connection of a removed address ends with an error on the host (ECONNABORTED), and by a reset at its peer.

Examples:

  weir stack link
  weir stack link weir1 --add 10.1.0.3/24
  weir stack link weir1 --remove 10.1.0.2 --mtu 1400`
}

// Run implements the command.
func (c *stackLinkCmd) Run(ctx context.Context, t *terminal) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	if len(c.Remove)+len(c.Add) > 0 || c.MTU != 0 {
		if err := h.ChangeLink(ctx, c.Name, change); err != nil {
			return err
		}
	}
	s, err := h.Status(ctx, 1)
	if err != nil {
		return err
	}
	links := slices.DeleteFunc(s.Interfaces, func(i host.Interface) bool {
		return i.Kind == "loopback" || c.Name != "" && i.Name != c.Name
	})
	if len(links) == 0 {
		return fmt.Errorf("the host has no link %q: weir stack link lists them", c.Name)
	}
	if c.JSON {
		return t.json(links)
	}
	writePlainTable(t.out, columns("name", "kind", ">MTU", ">metric", "hardware address", "impairment", "addresses"), rows(links, func(l host.Interface) []string {
		return []string{l.Name, l.Kind, number(l.MTU), number(l.Metric), l.MAC, l.Impair, strings.Join(l.Addrs, ", ")}
	}))
	return nil
}

// change returns the change from the flags.
func (c *stackLinkCmd) change() (change host.LinkChange, err error) {
	if change.MTU = c.MTU; c.MTU < 0 {
		return change, usageError{fmt.Errorf("--mtu %d: give a positive number of bytes", c.MTU)}
	}
	for _, text := range c.Remove {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return change, usageError{fmt.Errorf("--remove is %q: write an address without its prefix length, such as 10.0.0.2", text)}
		}
		change.Remove = append(change.Remove, a)
	}
	change.Add, err = prefixes("--add", c.Add)
	return change, err
}
