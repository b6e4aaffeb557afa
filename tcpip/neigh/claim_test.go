package neigh

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/wire"
)

// What is to be done about claims is written into the same log.

func (l *log) Probe(a netip.Addr)                 { l.add("probe %v", a) }
func (l *log) Announce(a netip.Addr)              { l.add("announce %v", a) }
func (l *log) Held(a netip.Addr)                  { l.add("have %v", a) }
func (l *log) Conflict(a netip.Addr, by wire.MAC) { l.add("%v has %v too", by, a) }
func (l *log) Lost(a netip.Addr, by wire.MAC)     { l.add("give up %v to %v", a, by) }

func claims(p Policy) (*Claims, *log) {
	return &Claims{MAC: ours, Policy: p, Rand: rand.New(rand.NewPCG(1, 2))}, &log{}
}

// until lets time pass, from one deadline to the next, and gives when each thing was said.
func until(c *Claims, l *log, now, end Time) (at []time.Duration, last Time) {
	for now < end {
		next := c.Tick(now, l)
		for len(at) < len(l.said) {
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
func TestAnAddressIsProbedForAndAnnounced(t *testing.T) {
	for seed := range uint64(50) {
		c, l := claims(Keep)
		c.Rand = rand.New(rand.NewPCG(seed, 0))
		c.Begin(us, true, second, l)
		at, _ := until(c, l, second, 60*second)
		l.wants(t, "probe 10.0.0.1", "probe 10.0.0.1", "probe 10.0.0.1", "have 10.0.0.1", "announce 10.0.0.1", "announce 10.0.0.1")
		if wait := at[0] - time.Second; wait < 0 || wait > probeWait {
			t.Errorf("the first probe is sent after %v", wait)
		}
		for i, want := range []struct{ least, most time.Duration }{{probeMin, probeMax}, {probeMin, probeMax}, {announceWait, announceWait}, {0, 0}, {announceInterval, announceInterval}} {
			if gap := at[i+1] - at[i]; gap < want.least || gap > want.most {
				t.Errorf("seed %d: %v between the %dth and the next, want %v to %v", seed, gap, i, want.least, want.most)
			}
		}
	}
}

func TestAnAddressIsAnnouncedAtOnce(t *testing.T) {
	c, l := claims(Keep)
	c.Begin(us, false, second, l)
	l.wants(t, "have 10.0.0.1", "announce 10.0.0.1")
	until(c, l, second, 60*second)
	l.wants(t, "announce 10.0.0.1")
}

// What says, while an address is probed for, that it is taken (RFC 5227, section 2.1.1).
func TestAnAddressThatIsTaken(t *testing.T) {
	for _, m := range []struct {
		name  string
		m     wire.ARP
		taken bool
	}{
		{"an answer", message(wire.ARPReply, theirs, us, us), true},
		{"a question of its holder", message(wire.ARPRequest, theirs, us, them), true},
		{"a probe of another host", message(wire.ARPRequest, theirs, nobody, us), true},
		{"our own probe, that came back", message(wire.ARPRequest, ours, nobody, us), false},
		{"a question for it", message(wire.ARPRequest, theirs, them, us), false},
		{"an answer of somebody else", message(wire.ARPReply, theirs, them, us), false},
	} {
		c, l := claims(Keep)
		c.Begin(us, true, second, l)
		until(c, l, second, 3*second)
		l.said = nil
		c.Receive(m.m, 3*second, l)
		if m.taken {
			l.wants(t, "give up 10.0.0.1 to "+theirMAC)
			until(c, l, 3*second, 60*second)
			l.wants(t)
			continue
		}
		until(c, l, 3*second, 60*second)
		if got := strings.Join(l.said, "; "); !strings.HasSuffix(got, "have 10.0.0.1; announce 10.0.0.1; announce 10.0.0.1") {
			t.Errorf("%s: %s", m.name, got)
		}
	}
}

// RFC 5227, section 2.4: what becomes of an address that is used when somebody else uses it too.
func TestAnAddressIsDefended(t *testing.T) {
	conflict := message(wire.ARPRequest, theirs, us, them)
	const seen, lost = theirMAC + " has 10.0.0.1 too", "give up 10.0.0.1 to " + theirMAC
	for _, k := range []struct {
		name   string
		policy Policy
		at     []Time // when the conflicts are, in seconds
		want   []string
	}{
		{"kept", Keep, []Time{60}, []string{"announce 10.0.0.1", seen}},
		{"kept, and told once in ten seconds", Keep, []Time{60, 61, 69, 70}, []string{"announce 10.0.0.1", seen, "announce 10.0.0.1", seen}},
		{"defended", Defend, []Time{60}, []string{"announce 10.0.0.1", seen}},
		{"defended again, later", Defend, []Time{60, 71}, []string{"announce 10.0.0.1", seen, "announce 10.0.0.1", seen}},
		{"given up, the second time", Defend, []Time{60, 69}, []string{"announce 10.0.0.1", seen, lost}},
		{"given up, and nothing more", Yield, []Time{60, 61}, []string{lost}},
	} {
		c, l := claims(k.policy)
		c.Begin(us, false, second, l)
		until(c, l, second, 60*second)
		l.said = nil
		for _, at := range k.at {
			c.Receive(conflict, at*second, l)
		}
		if !equal(l.said, k.want) {
			t.Errorf("%s: %q, want %q", k.name, l.said, k.want)
		}
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// Whoever has our address while it is announced is answered once, and the announcements go on.
func TestOthersAddressesAreTheirs(t *testing.T) {
	c, l := claims(Yield)
	c.Begin(us, false, second, l)
	c.Begin(alsoUs, false, second, l)
	l.said = nil
	c.Receive(message(wire.ARPRequest, theirs, them, them), second, l)
	c.Receive(message(wire.ARPRequest, ours, us, us), second, l)
	l.wants(t)
	c.Receive(message(wire.ARPRequest, theirs, alsoUs, alsoUs), second, l)
	l.wants(t, "give up 10.0.0.11 to "+theirMAC)
	until(c, l, second, 60*second)
	l.wants(t, "announce 10.0.0.1")
}
