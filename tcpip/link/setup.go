package link

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// SetupConfig says what a TAP device is to be like on the kernel's side.
type SetupConfig struct {
	Tap string // the device's name, at most 15 bytes; made if it is not there
	// named network namespace that everything is in; made if it is not there. Empty: the caller's
	Namespace string
	// the kernel's own address, with the length of its network; the bridge's if there is one. Zero:
	// none
	Addr netip.Prefix
	MTU  int // bytes; 0: as it is, 1,500 when the device is made
	// frames that may wait for the stack's reader (txqueuelen); 0: 4,096, or what the device has if
	// that is more
	QueueLen int
	Queues   int // of a device that is made; default 1
	// an interface that is joined to the device by a bridge, which is made; empty: none
	Bridge string
}

// queueLen is txqueuelen where nobody says it: room for some thousand pings, and for what several
// connections send at once.
const queueLen = 4096

// validate says what cannot be.
func (c *SetupConfig) validate() error {
	for _, name := range []string{c.Tap, c.Bridge} {
		if len(name) > 15 || strings.ContainsAny(name, "/ %") {
			return fmt.Errorf("link: %q is no name of a device: it has at most 15 bytes, without spaces, slashes and %%", name)
		}
	}
	switch {
	case c.Tap == "":
		return errors.New("link: a TAP device needs a name: give it one, such as weir0")
	case c.Namespace == "." || c.Namespace == ".." || strings.Contains(c.Namespace, "/"):
		return fmt.Errorf("link: %q is no name of a network namespace: it has no slashes", c.Namespace)
	case c.MTU < 0 || c.QueueLen < 0 || c.Queues < 0:
		return fmt.Errorf("link: a device with an MTU of %d, a queue of %d frames and %d queues: make them 0 or more", c.MTU, c.QueueLen, c.Queues)
	case c.Bridge == c.Tap:
		return fmt.Errorf("link: %s cannot be joined to itself: name another interface for the bridge", c.Tap)
	}
	return nil
}

// bridgeName is the bridge's that a device is in.
func bridgeName(tap string) string { return "br-" + tap[:min(len(tap), 12)] }

// steps are what was done, as what undoes it.
type steps struct{ undo []func() error }

func (s *steps) done(undo func() error) { s.undo = append(s.undo, undo) }

// back undoes the steps, the last one first, each of them even if another one fails.
func (s *steps) back() error {
	var errs []error
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		errs = append(errs, s.undo[last]())
		s.undo = s.undo[:last]
	}
	return errors.Join(errs...)
}
