package link

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// SetupConfig configures the kernel's side of a TAP or TUN device.
type SetupConfig struct {
	Medium Medium // Ethernet: a TAP device; IP: a TUN device
	Tap    string // the device's name, at most 15 bytes; made if it does not exist
	// named network namespace for everything; made if it does not exist. Empty: the caller's
	Namespace string
	// the kernel's own addresses with their prefix lengths; on the bridge if there is one
	Addrs []netip.Prefix
	MTU   int // bytes; 0: unchanged, 1,500 for a new device
	// frames that may wait for the stack (txqueuelen); 0: 4,096, or the device's own if more
	QueueLen int
	Queues   int // queues of a new device; default 1
	// the interface that a new bridge joins with the device (not the bridge's name, which is
	// made of the device's); empty: none, and no bridge
	Bridge string
}

// defaultQueueLen is the default txqueuelen: room for some thousand pings, and for the bursts of
// several connections.
const defaultQueueLen = 4096

// validate returns an error for an invalid config.
func (c *SetupConfig) validate() error {
	for _, name := range []string{c.Tap, c.Bridge} {
		if len(name) > 15 || strings.ContainsAny(name, "/ %") {
			return fmt.Errorf("link: %q is not a valid device name: use at most 15 bytes, without spaces, slashes and %%", name)
		}
	}
	switch {
	case c.Tap == "":
		return errors.New("link: a device needs a name: give it one, such as weir0")
	case c.Namespace == "." || c.Namespace == ".." || strings.Contains(c.Namespace, "/"):
		return fmt.Errorf("link: %q is not a valid name of a network namespace: use one without slashes", c.Namespace)
	case c.MTU < 0 || c.QueueLen < 0 || c.Queues < 0:
		return fmt.Errorf("link: a device with an MTU of %d, a queue of %d frames and %d queues: make them 0 or more", c.MTU, c.QueueLen, c.Queues)
	case c.Bridge != "" && c.Medium == IP:
		return fmt.Errorf("link: %s cannot join a bridge: only a TAP device can", c.Tap)
	case c.Bridge == c.Tap:
		return fmt.Errorf("link: %s cannot be joined to itself: name another interface for the bridge", c.Tap)
	}
	return nil
}

// bridgeName returns the name of a device's bridge.
func bridgeName(tap string) string { return "br-" + tap[:min(len(tap), 12)] }

// undoStack has a function for each step done, which undoes it.
type undoStack struct{ undos []func() error }

func (s *undoStack) push(undo func() error) { s.undos = append(s.undos, undo) }

// undoAll undoes the steps, the last one first, and goes on after an error.
func (s *undoStack) undoAll() error {
	var errs []error
	for len(s.undos) > 0 {
		last := len(s.undos) - 1
		errs = append(errs, s.undos[last]())
		s.undos = s.undos[:last]
	}
	return errors.Join(errs...)
}
