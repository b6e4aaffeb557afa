package link

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestUndoRestoresThePreviousState(t *testing.T) {
	space := namespace(t)
	c := SetupConfig{Tap: "tap0", Namespace: space, Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}, MTU: 9000, QueueLen: 7777}
	states := []string{state(t, space)}
	first, err := Setup(c)
	if err != nil {
		t.Fatal(err)
	}
	states = append(states, state(t, space))
	if want := "tap0 up 9000 7777 [10.9.0.1/24 tap0]"; !strings.Contains(states[1], want) {
		t.Errorf("set up it is %q, want %q in it", states[1], want)
	}
	// the device exists: Setup adds to it
	second, err := Setup(SetupConfig{Tap: "tap0", Namespace: space, Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.1.1/24")}, MTU: 1400})
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, space); !strings.Contains(got, "tap0 up 1400 7777 [10.9.0.1/24 tap0 10.9.1.1/24 tap0]") {
		t.Errorf("after a second Setup: got %q, want tap0 up with both addresses and an MTU of 1400", got)
	}
	for i, undo := range []func() error{second, first} {
		if err := undo(); err != nil {
			t.Error(err)
		}
		if got := state(t, space); got != states[1-i] {
			t.Errorf("undone it is %q, want %q", got, states[1-i])
		}
	}
}

func TestSetupMakesANamespaceAndABridge(t *testing.T) {
	outer := namespace(t) // skips without privileges
	space := outer + "-made"
	prepared(t, SetupConfig{Tap: "tap1", Namespace: outer})
	before := state(t, outer)
	undo, err := Setup(SetupConfig{Tap: "tap0", Namespace: outer, Bridge: "tap1", Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, outer); !strings.Contains(got, "br-tap0 up 1500 1000 [10.9.0.1/24 br-tap0]") {
		t.Errorf("with a bridge: got %q, want br-tap0 up with the address", got)
	}
	if _, err := Setup(SetupConfig{Tap: "tap2", Namespace: outer, Bridge: "tap1"}); err == nil || !strings.Contains(err.Error(), "in a bridge already") {
		t.Errorf("a second bridge for one port: got error %v, want one that says %q", err, "in a bridge already")
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	if got := state(t, outer); got != before {
		t.Errorf("undone it is %q, want %q", got, before)
	}
	if undo, err = Setup(SetupConfig{Tap: "tap0", Namespace: space}); err != nil {
		t.Fatal(err)
	}
	if got := state(t, space); !strings.Contains(got, "lo up") || !strings.Contains(got, "tap0 up") {
		t.Errorf("in a new namespace: got %q, want lo and tap0 up", got)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/run/netns/" + space); err == nil {
		t.Error("the namespace that Setup made still exists, want it removed by undo")
	}
}

func TestSetupThatFailsLeavesNothing(t *testing.T) {
	space := namespace(t)
	before := state(t, space)
	for name, c := range map[string]struct {
		c    SetupConfig
		says string
	}{
		"no such interface":    {SetupConfig{Tap: "tap0", Bridge: "eth77"}, "eth77"},
		"one with an address":  {SetupConfig{Tap: "tap0", Bridge: "lo"}, "127.0.0.1"},
		"not a TAP":            {SetupConfig{Tap: "lo"}, "not a TAP device"},
		"an MTU too large":     {SetupConfig{Tap: "tap0", MTU: 70000}, "65,521"},
		"no name":              {SetupConfig{}, "needs a name"},
		"a name too long":      {SetupConfig{Tap: "sixteen-bytes-xx"}, "at most 15"},
		"a bridge with itself": {SetupConfig{Tap: "tap0", Bridge: "tap0"}, "itself"},
	} {
		c.c.Namespace = space
		if _, err := Setup(c.c); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.says)
		}
		if got := state(t, space); got != before {
			t.Errorf("%s: left %q, want %q", name, got, before)
		}
	}
	if _, err := Setup(SetupConfig{Tap: "tap0", Namespace: space + "-x", MTU: 70000}); err == nil {
		t.Error("Setup accepted an MTU of 70000, want an error")
	}
	if _, err := os.Stat("/run/netns/" + space + "-x"); err == nil {
		t.Error("the namespace of a Setup that failed still exists, want it removed")
	}
}

// state describes a namespace: each interface with its state, MTU, queue length, bridge and
// addresses.
func state(t testing.TB, space string) (s string) {
	t.Helper()
	inside(t, space, func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			a, up := l.Attrs(), "down"
			if a.Flags&net.FlagUp != 0 {
				up = "up"
			}
			addrs, _ := netlink.AddrList(l, netlink.FAMILY_V4)
			s += fmt.Sprintf("%s %s %d %d %v; ", a.Name, up, a.MTU, a.TxQLen, addrs)
		}
		return err
	})
	return s
}
