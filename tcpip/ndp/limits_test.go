package ndp

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/wire"
)

// numbered returns an advertisement that announces one of everything, for ever, and the router that
// sends it: each number has others.
func numbered(n int) (from netip.Addr, a *wire.Advert) {
	b := [16]byte{0x20, 1, 0xd, 0xb8, 4: byte(n >> 8), 5: byte(n), 15: 1}
	server := netip.AddrFrom16(b)
	p := wire.Prefix{Prefix: netip.PrefixFrom(server, 64).Masked(), OnLink: true, Autonomous: true, Valid: wire.Infinite, Preferred: wire.Infinite}
	options := wire.AppendServers(wire.AppendPrefix(nil, &p), &wire.Servers{Lifetime: wire.Infinite, Addrs: []netip.Addr{server}})
	b[0], b[1] = 0xfe, 0x80
	return netip.AddrFrom16(b), &wire.Advert{Lifetime: 65535 * time.Second, Options: options}
}

// has counts what a host has of the advertisement with a number: its router, prefix, address and
// server.
func has(h *Host, n int, now Time) (count int) {
	from, a := numbered(n)
	s := h.State(now)
	other := New(h.cfg, 1)
	other.Receive(from, a, now)
	want := other.State(now)
	for _, found := range []bool{slices.Contains(s.routers(), from), slices.Contains(s.Prefixes, want.Prefixes[0]), slices.Contains(s.Addrs, want.Addrs[0]), slices.Contains(s.Servers, want.Servers[0])} {
		if found {
			count++
		}
	}
	return count
}

// A flood of forged advertisements does not displace a router that was there before it, and does
// not shut out one that comes after it, though what was forged never ends.
func TestAFloodDoesNotShutOutRouters(t *testing.T) {
	const legitimate, second, forged, all = 9001, 9002, 1000, 4
	h, now := newHost(), at(0)
	flood := func() {
		for n := range forged {
			from, a := numbered(n)
			h.Receive(from, a, now)
		}
	}
	announce := func(n int) {
		from, a := numbered(n)
		h.Receive(from, a, now)
	}
	announce(legitimate)
	for range 10 {
		now += Time(time.Minute)
		flood()
	}
	if got := has(h, legitimate, now); got != all {
		t.Errorf("a router before the flood: got %d of what it has announced, want %d", got, all)
	}
	h = newHost()
	flood()
	now += Time(2 * time.Minute)
	announce(legitimate)
	announce(second)
	if got, other := has(h, legitimate, now), has(h, second, now); got != all || other != all {
		t.Errorf("two routers after the flood: got %d and %d of what they have announced, want %d", got, other, all)
	}
	for range 10 { // each router repeats its advertisement, and each flood is another one
		now += Time(10 * time.Minute)
		announce(legitimate)
		flood()
	}
	if got := has(h, legitimate, now); got != all {
		t.Errorf("a router that repeats its advertisement during a flood: got %d of what it has announced, want %d", got, all)
	}
}

// A flood changes what a host has slowly: each new address is probed for, and reported to routers.
func TestAFloodChangesLittle(t *testing.T) {
	h, changes := newHost(), 0
	for n := range 6000 { // 100 a second
		from, a := numbered(n)
		if h.Receive(from, a, at(time.Duration(n)*10*time.Millisecond)) {
			changes++
		}
	}
	if most := 2 * maxPrefixes; changes > most {
		t.Errorf("got %d changes in a minute, want %d at most", changes, most)
	}
}

// A small hop limit would keep the host from reaching any network for as long as no router
// announces another one.
func TestSmallHopLimitsAreIgnored(t *testing.T) {
	h := newHost()
	for _, c := range []struct{ announced, want uint8 }{{64, 64}, {1, 64}, {31, 64}, {32, 32}, {0, 32}, {255, 255}} {
		h.Receive(router1, &wire.Advert{HopLimit: c.announced}, at(0))
		if got := h.State(at(0)).HopLimit; got != c.want {
			t.Errorf("announced %d: got a hop limit of %d, want %d", c.announced, got, c.want)
		}
	}
}
