package host

import (
	"net/netip"

	"weir/tcpip/dhcp"
)

// newLeases makes the clients of DHCP, for Run.
func (h *Host) newLeases() error {
	if !h.config.DHCP {
		return nil
	}
	four, err := dhcp.New(dhcp.Config{Stack: h.stack, Release: true, OnEvent: h.config.OnDHCP})
	if err != nil {
		return err
	}
	six, err := dhcp.NewStateless(dhcp.StatelessConfig{Stack: h.stack})
	if err != nil {
		return err
	}
	h.leases = append(h.leases, four.Run, six.Run)
	return nil
}

// name describes the host by its first address.
func (c *Config) name() string {
	if len(c.Addrs) == 0 {
		return "with an address by DHCP"
	}
	return c.Addrs[0].String()
}

// addrs returns the addresses that the host uses, the one that it is known by first: one of IPv4,
// if DHCP has given it.
func (h *Host) addrs() []netip.Prefix {
	if !h.config.DHCP {
		return h.config.Addrs
	}
	var four, six []netip.Prefix
	for _, a := range h.stack.Addrs() {
		switch {
		case a.Addr().IsLoopback():
		case a.Addr().Is4():
			four = append(four, a)
		default:
			six = append(six, a)
		}
	}
	return append(four, six...)
}
