package ndp

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/wire"
)

const day = 24 * time.Hour

// newTempHost returns a host with temporary addresses, whose random numbers come from a seed.
func newTempHost(t *testing.T, seed uint64, l TempLifetimes) *Host {
	t.Helper()
	l, err := l.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := newHost().cfg
	c.Temporary, c.TempLifetimes, c.Random = true, l, rand.New(rand.NewPCG(seed, 1)).Uint64
	return New(c, 1)
}

// tempsOf returns the temporary addresses of a host, and those of them that are not deprecated.
func tempsOf(h *Host, now Time) (all, preferred []netip.Addr) {
	for _, a := range h.State(now).Addrs {
		if !a.Temporary {
			continue
		}
		all = append(all, a.Addr)
		if !a.Deprecated {
			preferred = append(preferred, a.Addr)
		}
	}
	return all, preferred
}

// life is what a test has seen of a temporary address.
type life struct{ madeAt, deprecatedAt, endedAt Time }

// liveWith runs a host for a time with an advertisement at each interval, and returns the lives of
// its temporary addresses. check is called after each change.
func liveWith(h *Host, a *wire.Advert, every, span time.Duration, check func(now Time)) map[netip.Addr]*life {
	lives := map[netip.Addr]*life{}
	now, advertAt := at(0), at(0)
	for now < at(span) {
		if now >= advertAt {
			h.Receive(router1, a, now)
			advertAt = now + Time(every)
		}
		_, _, next := h.Tick(now)
		all, preferred := tempsOf(h, now)
		for _, a := range all {
			if lives[a] == nil {
				lives[a] = &life{madeAt: now}
			}
		}
		for a, l := range lives {
			if l.deprecatedAt == 0 && !slices.Contains(preferred, a) {
				l.deprecatedAt = now
			}
			if l.endedAt == 0 && !slices.Contains(all, a) {
				l.endedAt = now
			}
		}
		check(now)
		now = advertAt
		if next != 0 {
			now = min(next, advertAt)
		}
	}
	return lives
}

// RFC 8981, sections 3.4 to 3.6 and 3.8, over eight weeks: each address is preferred for a day less
// at most 40 %, and valid for two; its successor is made five seconds before.
func TestTemporaryAddressesAreRenewed(t *testing.T) {
	const span = 56 * day
	h := newTempHost(t, 1, TempLifetimes{})
	lives := liveWith(h, advert(30*time.Minute, 30*day, 7*day), 10*time.Minute, span, func(now Time) {
		all, preferred := tempsOf(h, now)
		if len(preferred) < 1 || len(preferred) > 2 || len(all) > 4 {
			t.Fatalf("after %v: got %d temporary addresses, %d of them preferred, want 1 or 2 of at most 4", time.Duration(now-1), len(all), len(preferred))
		}
	})
	if n := len(lives); n < 56 || n > 56*10/6+2 {
		t.Errorf("got %d temporary addresses in 56 days, want one for each 0.6 to 1 day", n)
	}
	var made []Time
	desyncs := map[time.Duration]bool{}
	for a, l := range lives {
		made = append(made, l.madeAt)
		if preferred := time.Duration(l.deprecatedAt - l.madeAt); l.deprecatedAt != 0 {
			desyncs[preferred] = true
			if preferred < day*6/10 || preferred > day {
				t.Errorf("%v was preferred for %v, want 0.6 to 1 day", a, preferred)
			}
		}
		if valid := time.Duration(l.endedAt - l.madeAt); l.endedAt != 0 && valid != 2*day {
			t.Errorf("%v was valid for %v, want 2 days", a, valid)
		}
		if !net1.Contains(a) || a == StableAddr(net1, "link", 0, []byte("key")) {
			t.Errorf("got the temporary address %v, want another than the stable one in %v", a, net1)
		}
	}
	if len(desyncs) < len(lives)/2 {
		t.Errorf("got %d preferred lifetimes of %d addresses, want a random one for each (DESYNC_FACTOR)", len(desyncs), len(lives))
	}
	slices.Sort(made)
	for _, l := range lives {
		if l.deprecatedAt != 0 && !slices.Contains(made, l.deprecatedAt-Time(regenAdvance)) {
			t.Errorf("an address was deprecated at %v, want its successor made 5 s before (REGEN_ADVANCE)", time.Duration(l.deprecatedAt))
		}
	}
}

// RFC 8981, section 3.4, steps 1, 2 and 5, and section 3.5: with whatever routers announce, no
// address is preferred or valid for longer than it may be, and none is made that is preferred for
// REGEN_ADVANCE or less.
func TestTemporaryAddressesEndWithTheirPrefix(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		h := newTempHost(t, seed, TempLifetimes{})
		made := map[netip.Addr]Time{}
		stable := StableAddr(net1, "link", 0, []byte("key"))
		now := at(0)
		check := func() {
			i := slices.IndexFunc(h.addrs, func(a address) bool { return a.addr == stable })
			all, preferred := tempsOf(h, now)
			if len(all) > 4 {
				t.Fatalf("seed %d: got %d temporary addresses, want at most 4", seed, len(all))
			}
			for _, a := range all {
				if made[a] == 0 {
					made[a] = now
					if left := time.Duration(h.addrs[i].preferredUntil - now); left <= regenAdvance {
						t.Errorf("seed %d: an address was made while the prefix was preferred for %v, want more than 5 s", seed, left)
					}
				}
				isPreferred := slices.Contains(preferred, a)
				if age := time.Duration(now - made[a]); age >= 2*day || isPreferred && (age >= day || h.addrs[i].preferredUntil <= now) {
					t.Errorf("seed %d: an address exists after %v (preferred %t), want it ended", seed, age, isPreferred)
				}
			}
		}
		for now < at(21*day) {
			if r.IntN(3) > 0 {
				valid := time.Duration(r.Int64N(int64(4 * day)))
				h.Receive(router1, advert(time.Hour, valid, time.Duration(r.Int64N(int64(valid)+1))>>r.IntN(20)), now)
				check()
			}
			until := now + Time(r.Int64N(int64(day))>>r.IntN(20)) + 1
			for {
				_, _, next := h.Tick(now)
				check()
				if next == 0 || next > until {
					break
				}
				now = next
			}
			now = until
		}
	}
}

// RFC 8981, section 3.5: an advertisement that deprecates a prefix makes no address; one that
// revives it revives the address.
func TestDeprecatedPrefixesGetNoTemporaryAddress(t *testing.T) {
	h := newTempHost(t, 1, TempLifetimes{})
	h.Receive(router1, advert(time.Hour, day, time.Hour), at(0))
	first, _ := tempsOf(h, at(0))
	for n, preferred := range []time.Duration{0, regenAdvance} {
		now := at(time.Duration(n+1) * time.Minute)
		h.Receive(router1, advert(time.Hour, day, preferred), now)
		if all, _ := tempsOf(h, now); !slices.Equal(all, first) {
			t.Errorf("with a preferred lifetime of %v: got the temporary addresses %v, want %v only", preferred, all, first)
		}
	}
	if !h.Receive(router1, advert(time.Hour, day, time.Hour), at(time.Hour)) {
		t.Error("the state has not changed, want it changed")
	}
	if all, preferred := tempsOf(h, at(time.Hour)); !slices.Equal(all, first) || !slices.Equal(preferred, first) {
		t.Errorf("after the prefix is preferred again: got the addresses %v, %v preferred, want %v", all, preferred, first)
	}
	h = newTempHost(t, 1, TempLifetimes{})
	h.Receive(router1, advert(time.Hour, day, regenAdvance), at(0))
	if all, _ := tempsOf(h, at(0)); len(all) != 0 {
		t.Errorf("with a preferred lifetime of 5 s: got the temporary addresses %v, want none", all)
	}
}

// RFC 8981, section 3.4, step 7: a duplicate is replaced, TEMP_IDGEN_RETRIES times in a row. The
// stable address stays.
func TestDuplicateTemporaryAddressesAreReplaced(t *testing.T) {
	h := newTempHost(t, 1, TempLifetimes{})
	seen := map[netip.Addr]bool{}
	now := at(0)
	duplicates := func(count int) {
		t.Helper()
		for range count {
			_, preferred := tempsOf(h, now)
			if len(preferred) != 1 || seen[preferred[0]] {
				t.Fatalf("got the temporary addresses %v, want one that was not there before", preferred)
			}
			seen[preferred[0]] = true
			h.Duplicate(preferred[0], now)
		}
	}
	a := advert(time.Hour, 30*day, 7*day)
	h.Receive(router1, a, now)
	duplicates(2)
	for now < at(day) { // the third address is used, and replaced by one that starts to count anew
		_, _, now = h.Tick(now)
	}
	duplicates(3)
	liveWith(h, a, day, 5*day, func(now Time) {
		if _, preferred := tempsOf(h, now); now > at(day) && len(preferred) != 0 {
			t.Fatalf("after three duplicates in a row: got the address %v, want none", preferred)
		}
	})
	if s := h.State(now); s.Addrs[0].Temporary || s.Addrs[0].Deprecated {
		t.Errorf("got the addresses %v, want the stable one first", s.Addrs)
	}
}

// Neither a configuration nor a stranger on the link makes more than a limited number.
func TestTemporaryAddressesAreLimited(t *testing.T) {
	h := newTempHost(t, 1, TempLifetimes{Preferred: 10 * time.Second, Valid: 1000 * time.Hour})
	liveWith(h, advert(time.Hour, 30*day, 7*day), time.Hour, 4*time.Hour, func(now Time) {
		if all, _ := tempsOf(h, now); len(all) > maxTempsPerPrefix {
			t.Fatalf("got %d temporary addresses of a prefix, want at most %d", len(all), maxTempsPerPrefix)
		}
	})
	h = newTempHost(t, 1, TempLifetimes{Preferred: 10 * time.Second, Valid: 1000 * time.Hour})
	now := at(0)
	for i := range 1000 {
		b := [16]byte{0x20, 1, 0xd, 0xb8, 4: byte(i >> 8), 5: byte(i)}
		p := wire.Prefix{Prefix: netip.PrefixFrom(netip.AddrFrom16(b), 64), Autonomous: true, Valid: 900 * time.Hour, Preferred: 900 * time.Hour}
		h.Receive(router1, &wire.Advert{Options: wire.AppendPrefix(nil, &p)}, now)
		_, _, now = h.Tick(now)
	}
	if all, _ := tempsOf(h, now); len(all) != maxTemps {
		t.Errorf("got %d temporary addresses of a link, want the limit, %d", len(all), maxTemps)
	}
}

// RFC 8981, section 3.3.1: neither a reserved identifier nor one in use is chosen.
func TestIdentifiersInUseAreNotUsed(t *testing.T) {
	h := newTempHost(t, 1, TempLifetimes{})
	stable := StableAddr(net1, "link", 0, []byte("key")).As16()
	numbers := []uint64{0, binary.BigEndian.Uint64(stable[8:]), 77, 0}
	h.cfg.Random = func() (n uint64) {
		n, numbers = numbers[0], numbers[1:]
		return n
	}
	h.Receive(router1, advert(time.Hour, day, day), at(0))
	if all, _ := tempsOf(h, at(0)); len(all) != 1 || all[0] != netip.MustParseAddr("2001:db8:1::4d") {
		t.Errorf("got the temporary addresses %v, want 2001:db8:1::4d, of the third number", all)
	}
}

// RFC 8981, section 3.8: the constraints on the lifetimes.
func TestTemporaryLifetimesAreChecked(t *testing.T) {
	for _, c := range []struct {
		l  TempLifetimes
		ok bool
	}{
		{TempLifetimes{}, true},
		{TempLifetimes{Preferred: 10 * time.Second, Valid: 11 * time.Second}, true},
		{TempLifetimes{Preferred: 8 * time.Second, Valid: time.Hour}, false},
		{TempLifetimes{Preferred: -time.Hour}, false},
		{TempLifetimes{Preferred: 3 * day}, false},
		{TempLifetimes{Valid: day}, false},
	} {
		if _, err := c.l.WithDefaults(); err == nil != c.ok {
			t.Errorf("%+v: got the error %v, want none: %t", c.l, err, c.ok)
		}
	}
	h := newHost()
	h.Receive(router1, advert(time.Hour, day, day), at(0))
	if all, _ := tempsOf(h, at(0)); len(all) != 0 {
		t.Errorf("without Temporary: got the temporary addresses %v, want none", all)
	}
}
