package host

import (
	"weir/tcpip/dhcp"
	"weir/tcpip/link"
)

// newLeases makes the clients of DHCP, for Run.
func (h *Host) newLeases() error {
	for _, d := range h.devices {
		l := &d.config
		if l.DHCP {
			c, err := dhcp.New(dhcp.Config{Stack: h.stack, Link: l.Name, Release: true, OnEvent: h.onDHCP(l.Name)})
			if err != nil {
				return err
			}
			h.leases = append(h.leases, c.Run)
		}
		if (l.DHCP || l.Autoconf) && l.Medium == link.Ethernet {
			c, err := dhcp.NewStateless(dhcp.StatelessConfig{Stack: h.stack, Link: l.Name})
			if err != nil {
				return err
			}
			h.leases = append(h.leases, c.Run)
		}
	}
	return nil
}

// onDHCP returns a function that reports a change of the link with a name; nil: changes are not
// reported.
func (h *Host) onDHCP(name string) func(dhcp.Event) {
	report := h.config.OnDHCP
	if report == nil {
		return nil
	}
	return func(e dhcp.Event) { report(name, e) }
}
