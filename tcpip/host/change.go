package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weir/tcpip/link"
)

// kinds are the names of devices by what they carry.
var kinds = map[link.Medium]string{link.Ethernet: "tap", link.IP: "tun"}

// LinkChange changes a link of a running host. Its fields apply in their order.
type LinkChange struct {
	Remove []netip.Addr   `json:"remove,omitempty"` // connections with these addresses end
	Add    []netip.Prefix `json:"add,omitempty"`    // addresses with their prefix lengths
	MTU    int            `json:"mtu,omitempty"`    // at most that of the device; 0: unchanged
}

// ChangeLink changes the link with that name. The first error ends it; what was changed before
// stays.
func (h *Host) ChangeLink(name string, c LinkChange) error {
	devices, err := h.devicesNamed(name)
	if err != nil {
		return err
	}
	if len(devices) != 1 {
		return fmt.Errorf("host: the host has the links %s: name the one to change", strings.Join(h.linkNames(), " and "))
	}
	name = devices[0].config.Name
	for _, a := range c.Remove {
		if err := h.removeAddr(name, a); err != nil {
			return err
		}
	}
	for _, p := range c.Add {
		if err := h.stack.AddAddrOn(name, p); err != nil {
			return inWords(err)
		}
	}
	if c.MTU != 0 {
		return inWords(h.stack.SetMTU(name, c.MTU))
	}
	return nil
}

// removeAddr takes an address from a link.
func (h *Host) removeAddr(name string, a netip.Addr) error {
	a = a.WithZone("")
	for _, i := range h.stack.Interfaces() {
		switch has := slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr() == a }); {
		case has && i.Name == name:
			if a.Is6() && a.IsLinkLocalUnicast() {
				a = a.WithZone(name)
			}
			return inWords(h.stack.RemoveAddr(a))
		case has && !a.IsLinkLocalUnicast():
			return fmt.Errorf("host: %v is an address of %s, not of %s: name that link", a, i.Name, name)
		}
	}
	return fmt.Errorf("host: %s does not have the address %v: see weir stack netstat", name, a)
}

// inWords returns an error of the stack as one of the host.
func inWords(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("host: " + strings.TrimPrefix(err.Error(), "tcpip: "))
}
