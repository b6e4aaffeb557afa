package host

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"weir/tcpip/link"
)

// checkDevice returns an error unless the device exists and is up. The error says what to do.
func checkDevice(tap, namespace string, m link.Medium) error {
	space, where := netns.None(), ""
	if namespace != "" {
		var err error
		if space, err = netns.GetFromName(namespace); err != nil {
			return fmt.Errorf("host: opening the network namespace %s: %w: make it (ip netns add %s), or use setup", namespace, err, namespace)
		}
		defer space.Close()
		where = "ip netns exec " + namespace + " "
	}
	h, err := netlink.NewHandleAt(space)
	if err != nil {
		return fmt.Errorf("host: looking for the device %s: %w", tap, err)
	}
	defer h.Close()
	l, err := h.LinkByName(tap)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return fmt.Errorf("%w %s: make it (%sip tuntap add %s mode %s user NAME), or use setup", ErrNoDevice, tap, where, tap, kinds[m])
	}
	if err != nil {
		return fmt.Errorf("host: looking for the device %s: %w", tap, err)
	}
	if l.Attrs().RawFlags&1 == 0 { // IFF_UP
		return fmt.Errorf("host: the device %s is down: set it up (%sip link set %s up)", tap, where, tap)
	}
	return nil
}
