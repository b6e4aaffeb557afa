package neigh

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/wire"
)

// log implements ClaimActions too.

func (l *log) Probe(a netip.Addr)                 { l.add("probe %v", a) }
func (l *log) Announce(a netip.Addr)              { l.add("announce %v", a) }
func (l *log) Held(a netip.Addr)                  { l.add("hold %v", a) }
func (l *log) Conflict(a netip.Addr, by wire.MAC) { l.add("%v uses %v too", by, a) }
func (l *log) Lost(a netip.Addr, by wire.MAC)     { l.add("give up %v to %v", a, by) }

func newClaims(p Policy) (*Claims, *log) {
	return &Claims{MAC: ours, Policy: p, Rand: rand.New(rand.NewPCG(1, 2))}, &log{}
}

// runUntil lets time pass from one deadline to the next, and returns when each entry was logged.
func runUntil(c *Claims, l *log, now, end Time) (at []time.Duration, last Time) {
	for now < end {
		next := c.Tick(now, l)
		for len(at) < len(l.entries) {
			at = append(at, time.Duration(now))
		}
		if next == 0 || next > end {
			break
		}
		now = next
	}
	return at, now
}

const theirMAC = "02:00:00:00:00:02"

// RFC 5227, section 2.1.1 and 2.3: three probes one to two seconds apart, two seconds of silence,
// two announcements two seconds apart.
func TestAddressIsProbedAndAnnounced(t *testing.T) {
	for seed := range uint64(50) {
		c, l := newClaims(Keep)
		c.Rand = rand.New(rand.NewPCG(seed, 0))
		c.Claim(us, true, second, l)
		at, _ := runUntil(c, l, second, 60*second)
		l.expect(t, "probe 10.0.0.1", "probe 10.0.0.1", "probe 10.0.0.1", "hold 10.0.0.1", "announce 10.0.0.1", "announce 10.0.0.1")
		if wait := at[0] - time.Second; wait < 0 || wait > probeWait {
			t.Errorf("the first probe is sent after %v, want at most 1 s", wait)
		}
		for i, want := range []struct{ least, most time.Duration }{{probeMin, probeMax}, {probeMin, probeMax}, {announceWait, announceWait}, {0, 0}, {announceInterval, announceInterval}} {
			if gap := at[i+1] - at[i]; gap < want.least || gap > want.most {
				t.Errorf("seed %d: %v between the %dth and the next, want %v to %v", seed, gap, i, want.least, want.most)
			}
		}
	}
}

func TestAddressIsAnnouncedAtOnceWithoutProbes(t *testing.T) {
	c, l := newClaims(Keep)
	c.Claim(us, false, second, l)
	l.expect(t, "hold 10.0.0.1", "announce 10.0.0.1")
	runUntil(c, l, second, 60*second)
	l.expect(t, "announce 10.0.0.1")
}

// Which messages show a conflict while an address is probed (RFC 5227, section 2.1.1).
func TestProbeDetectsAConflict(t *testing.T) {
	for _, m := range []struct {
		name  string
		m     wire.ARP
		taken bool
	}{
		{"an answer from the address", message(wire.ARPReply, theirs, us, us), true},
		{"a request from the address", message(wire.ARPRequest, theirs, us, them), true},
		{"a probe of another host", message(wire.ARPRequest, theirs, unspecified, us), true},
		{"our own probe, looped back", message(wire.ARPRequest, ours, unspecified, us), false},
		{"a request for the address", message(wire.ARPRequest, theirs, them, us), false},
		{"an answer from another address", message(wire.ARPReply, theirs, them, us), false},
	} {
		c, l := newClaims(Keep)
		c.Claim(us, true, second, l)
		runUntil(c, l, second, 3*second)
		l.entries = nil
		c.Receive(m.m, 3*second, l)
		if m.taken {
			l.expect(t, "give up 10.0.0.1 to "+theirMAC)
			runUntil(c, l, 3*second, 60*second)
			l.expect(t)
			continue
		}
		runUntil(c, l, 3*second, 60*second)
		if got := strings.Join(l.entries, "; "); !strings.HasSuffix(got, "hold 10.0.0.1; announce 10.0.0.1; announce 10.0.0.1") {
			t.Errorf("%s: got %s, want the address held and announced twice (RFC 5227, section 2.3)", m.name, got)
		}
	}
}

// A host defends its address in use against another host (RFC 5227, section 2.4).
func TestAnAddressIsDefendedByItsPolicy(t *testing.T) {
	conflict := message(wire.ARPRequest, theirs, us, them)
	const seen, lost = theirMAC + " uses 10.0.0.1 too", "give up 10.0.0.1 to " + theirMAC
	for _, k := range []struct {
		name   string
		policy Policy
		at     []Time // when the conflicts are, in seconds
		want   []string
	}{
		{"kept", Keep, []Time{60}, []string{"announce 10.0.0.1", seen}},
		{"kept, announced at most once in ten seconds", Keep, []Time{60, 61, 69, 70}, []string{"announce 10.0.0.1", seen, "announce 10.0.0.1", seen}},
		{"defended", Defend, []Time{60}, []string{"announce 10.0.0.1", seen}},
		{"defended again, later", Defend, []Time{60, 71}, []string{"announce 10.0.0.1", seen, "announce 10.0.0.1", seen}},
		{"given up, the second time", Defend, []Time{60, 69}, []string{"announce 10.0.0.1", seen, lost}},
		{"given up once", Yield, []Time{60, 61}, []string{lost}},
	} {
		c, l := newClaims(k.policy)
		c.Claim(us, false, second, l)
		runUntil(c, l, second, 60*second)
		l.entries = nil
		for _, at := range k.at {
			c.Receive(conflict, at*second, l)
		}
		if !equal(l.entries, k.want) {
			t.Errorf("%s: %q, want %q", k.name, l.entries, k.want)
		}
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// A conflict ends the announcements of its own address only.
func TestConflictConcernsOneAddress(t *testing.T) {
	c, l := newClaims(Yield)
	c.Claim(us, false, second, l)
	c.Claim(alsoUs, false, second, l)
	l.entries = nil
	c.Receive(message(wire.ARPRequest, theirs, them, them), second, l)
	c.Receive(message(wire.ARPRequest, ours, us, us), second, l)
	l.expect(t)
	c.Receive(message(wire.ARPRequest, theirs, alsoUs, alsoUs), second, l)
	l.expect(t, "give up 10.0.0.11 to "+theirMAC)
	runUntil(c, l, second, 60*second)
	l.expect(t, "announce 10.0.0.1")
}
