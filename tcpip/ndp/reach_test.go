package ndp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"weir/wire"
)

// lan is a link with routers fe80::N, of which the tests set what is known.
type lan struct {
	reach  map[string]Reach
	used   bool     // packets are sent
	probes []string // to which routers
}

func (l *lan) Reach(r netip.Addr) Reach             { return l.reach[r.String()] }
func (l *lan) UsedSince(r netip.Addr, at Time) bool { return l.used }
func (l *lan) Probe(r netip.Addr)                   { l.probes = append(l.probes, r.String()) }

// announceFrom has a router announce itself with a preference, and a route if to is not "".
func announceFrom(h *Host, router string, lifetime time.Duration, p wire.RouterPreference, to string) {
	a := wire.Advert{Lifetime: lifetime, Preference: p}
	if to != "" {
		n := netip.MustParsePrefix(to)
		b := n.Addr().As16()
		a.Options = append([]byte{byte(wire.RouteInfo), 3, byte(n.Bits()), byte(p&3) << 3, 0, 0, 14, 16}, b[:]...)
	}
	h.Receive(netip.MustParseAddr(router), &a, at(0))
}

// RFC 4861, section 6.3.6, and RFC 4191, section 3.2: routers that answer come first, then their
// preference counts, then whether they are known.
func TestRoutersThatAnswerArePreferred(t *testing.T) {
	const low, medium, high = wire.LowPreference, wire.MediumPreference, wire.HighPreference
	for _, c := range []struct {
		name    string
		routers map[string]wire.RouterPreference
		reach   map[string]Reach
		want    string
	}{
		{"nothing is known", map[string]wire.RouterPreference{"fe80::1": medium, "fe80::2": medium}, nil, "[fe80::1 fe80::2]"},
		{"one is known", map[string]wire.RouterPreference{"fe80::1": medium, "fe80::2": medium}, map[string]Reach{"fe80::2": ReachProbable}, "[fe80::2 fe80::1]"},
		{"one has answered", map[string]wire.RouterPreference{"fe80::1": medium, "fe80::2": medium}, map[string]Reach{"fe80::1": ReachProbable, "fe80::2": ReachConfirmed}, "[fe80::1 fe80::2]"},
		{"a preferred one is unknown", map[string]wire.RouterPreference{"fe80::1": high, "fe80::2": medium}, map[string]Reach{"fe80::2": ReachConfirmed}, "[fe80::1 fe80::2]"},
		{"the preferred one has failed", map[string]wire.RouterPreference{"fe80::1": high, "fe80::2": low}, map[string]Reach{"fe80::1": ReachFailed}, "[fe80::2]"},
		{"all have failed", map[string]wire.RouterPreference{"fe80::1": low, "fe80::2": low}, map[string]Reach{"fe80::1": ReachFailed, "fe80::2": ReachFailed}, "[fe80::1 fe80::2]"},
	} {
		h := newHost()
		for _, r := range []string{"fe80::1", "fe80::2"} {
			announceFrom(h, r, time.Hour, c.routers[r], "")
		}
		h.UpdateReach(&lan{reach: c.reach}, at(time.Second))
		if got := fmt.Sprint(h.State(at(time.Second)).routers()); got != c.want {
			t.Errorf("%s: got the routers %s, want %s", c.name, got, c.want)
		}
	}
}

// RFC 4191, section 3.2: a route by a router that has failed is not used while another router leads
// there.
func TestRoutesOfFailedRoutersAreLeftOut(t *testing.T) {
	failed := map[string]Reach{"fe80::1": ReachFailed}
	for _, c := range []struct {
		name     string
		lifetime time.Duration // of the other router as a default router
		to       string        // its route
		want     string
	}{
		{"a default router answers", time.Hour, "", "[{::/0 fe80::2}]"},
		{"another router leads there", 0, "2001:db8::/32", "[{2001:db8::/32 fe80::2}]"},
		{"no other router leads there", 0, "2001:db8:9:9::/64", "[{2001:db8:9:9::/64 fe80::2} {2001:db8:9::/48 fe80::1}]"},
	} {
		h := newHost()
		announceFrom(h, "fe80::1", 0, wire.HighPreference, "2001:db8:9::/48")
		announceFrom(h, "fe80::2", c.lifetime, wire.LowPreference, c.to)
		h.UpdateReach(&lan{reach: failed}, at(time.Second))
		if got := fmt.Sprint(h.State(at(time.Second)).Routes); got != c.want {
			t.Errorf("%s: got the routes %s, want %s", c.name, got, c.want)
		}
	}
}

// RFC 4191, section 3.5: a router that has failed is probed at most once a minute, and only while
// packets go to another one. Only an answer brings it back: not an advertisement, which shows one
// direction of the link only.
func TestFailedRoutersAreProbedOnceAMinute(t *testing.T) {
	h, n := newHost(), &lan{used: true, reach: map[string]Reach{"fe80::1": ReachFailed, "fe80::2": ReachConfirmed}}
	announceFrom(h, "fe80::1", time.Hour, wire.HighPreference, "")
	announceFrom(h, "fe80::2", time.Hour, wire.LowPreference, "")
	for s := range 600 {
		changed, next := h.UpdateReach(n, at(time.Duration(s)*time.Second))
		if changed != (s == 0) || next <= at(time.Duration(s)*time.Second) {
			t.Fatalf("after %d s: changed is %t, and the next call after %v; want a change at first only, and a later call", s, changed, time.Duration(next))
		}
		n.reach["fe80::1"] = []Reach{ReachUnknown, ReachProbable}[s%2]
	}
	if len(n.probes) != 9 {
		t.Errorf("got %d probes in ten minutes, want one a minute after the first: 9", len(n.probes))
	}
	n.used = false
	h.UpdateReach(n, at(20*time.Minute))
	if len(n.probes) != 9 {
		t.Error("a router was probed without traffic, want no probe")
	}
	n.reach["fe80::1"] = ReachConfirmed
	if changed, next := h.UpdateReach(n, at(20*time.Minute)); !changed || next != 0 || h.HasFailed(netip.MustParseAddr("fe80::1")) {
		t.Errorf("after an answer: changed is %t and the next call is at %v, want a change and no deadline", changed, next)
	}
}

// Routers that have all failed are tried in turn.
func TestFailedRoutersAreTriedInTurn(t *testing.T) {
	h, n := newHost(), &lan{reach: map[string]Reach{"fe80::1": ReachFailed}}
	announceFrom(h, "fe80::1", time.Hour, 0, "")
	announceFrom(h, "fe80::2", time.Hour, 0, "")
	for i, want := range []string{"fe80::2", "fe80::1", "fe80::2", "fe80::1"} {
		h.UpdateReach(n, at(time.Duration(2*i)*time.Second))
		first := h.State(at(0)).routers()[0].String()
		if first != want {
			t.Errorf("after %d failures: got the router %s, want %s", i+1, first, want)
		}
		n.reach = map[string]Reach{} // its neighbour is removed, and that of the next one fails
		h.UpdateReach(n, at(time.Duration(2*i+1)*time.Second))
		n.reach = map[string]Reach{first: ReachFailed}
	}
}

// A router that has failed does not count as one that answers because it announces another route.
func TestAdvertisementsDoNotShowThatARouterAnswers(t *testing.T) {
	h, n := newHost(), &lan{reach: map[string]Reach{"fe80::1": ReachFailed}}
	announceFrom(h, "fe80::1", time.Hour, wire.HighPreference, "")
	announceFrom(h, "fe80::2", time.Hour, wire.LowPreference, "")
	h.UpdateReach(n, at(0))
	announceFrom(h, "fe80::1", time.Hour, wire.HighPreference, "2001:db8::/32")
	if got := fmt.Sprint(h.State(at(0)).Routes); got != "[{::/0 fe80::2}]" {
		t.Errorf("got the routes %s, want those of the router that answers", got)
	}
}

// RFC 4191, section 3.1: a route to ::/0 overrides the preference and the lifetime of the default
// router.
func TestARouteToAllAddressesIsTheDefaultRoute(t *testing.T) {
	h := newHost()
	announceFrom(h, "fe80::1", 0, wire.HighPreference, "::/0")
	announceFrom(h, "fe80::2", time.Hour, wire.MediumPreference, "")
	if got := fmt.Sprint(h.State(at(0)).routers()); got != "[fe80::1 fe80::2]" {
		t.Errorf("got the default routers %s, want the one of high preference first", got)
	}
}

// Default routers and routes have limits of their own: strangers cannot fill the memory, nor keep
// default routers away by routes.
func TestRoutesAreLimited(t *testing.T) {
	h := newHost()
	for i := range 1000 {
		announceFrom(h, fmt.Sprintf("fe80::%x", i+1), 0, 0, fmt.Sprintf("2001:db8:%x::/48", i))
	}
	for i := range 1000 {
		announceFrom(h, fmt.Sprintf("fe80::%x", i+1), time.Hour, 0, "")
	}
	if s := h.State(at(0)); len(s.routers()) != maxRouters || len(s.Routes) != maxRouters+maxRoutes {
		t.Errorf("got %d default routers and %d routes, want %d and %d in all", len(s.routers()), len(s.Routes), maxRouters, maxRouters+maxRoutes)
	}
}
