package neigh

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/wire"
)

// log is an Actions that records the actions.
type log struct{ entries []string }

func (l *log) SendRequest(target netip.Addr, at wire.MAC) { l.add("request %v at %v", target, at) }
func (l *log) SendQueued(n *Neighbour, packet []byte)     { l.add("send %s to %v", packet, n.MAC) }
func (l *log) Unreachable(a netip.Addr, p []byte)         { l.add("unreachable %[2]v: %[1]s", p, a) }
func (l *log) add(format string, args ...any) {
	l.entries = append(l.entries, fmt.Sprintf(format, args...))
}
func (l *log) expect(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(l.entries, lines) {
		t.Errorf("got actions %q\n       want %q", l.entries, lines)
	}
	l.entries = nil
}

var (
	us, them     = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	alsoUs       = netip.MustParseAddr("10.0.0.11")
	unspecified  = netip.IPv4Unspecified()
	ours, theirs = wire.MAC{2, 0, 0, 0, 0, 1}, wire.MAC{2, 0, 0, 0, 0, 2}
)

const second = Time(time.Second)

func message(op wire.ARPOperation, from wire.MAC, sender, target netip.Addr) wire.ARP {
	m, _ := wire.ParseARP(wire.AppendARP(nil, op, from, sender, ours, target))
	return m
}

func newTable() (*Table, *log) { return &Table{MAC: ours, Addrs: []netip.Addr{us, alsoUs}}, &log{} }

func TestAReplyResolvesAnAddress(t *testing.T) {
	n, l := newTable()
	now := second
	n.Queue(them, []byte("one"), now, l)
	n.Queue(them, []byte("two"), now, l)
	l.expect(t, "request 10.0.0.2 at ff:ff:ff:ff:ff:ff")
	if n.Receive(message(wire.ARPReply, theirs, them, us), now, l) {
		t.Error("Receive returned true for an ARP reply, want false: only a request is answered")
	}
	l.expect(t, "send one to 02:00:00:00:00:02", "send two to 02:00:00:00:00:02")
	if got, ok := n.Lookup(them); !ok || got.MAC != theirs || got.State != Reachable {
		t.Errorf("got the neighbour %+v, present: %t; want %v, reachable", got, ok, theirs)
	}
}

func TestResolutionFailsAfterThreeRequests(t *testing.T) {
	n, l := newTable()
	n.Queue(them, []byte("one"), second, l)
	for s := 1; s <= 4; s++ {
		n.Tick(Time(s)*second+second, l)
	}
	l.expect(t, "request 10.0.0.2 at ff:ff:ff:ff:ff:ff", "request 10.0.0.2 at ff:ff:ff:ff:ff:ff", "request 10.0.0.2 at ff:ff:ff:ff:ff:ff", "unreachable 10.0.0.2: one")
	n.Queue(them, []byte("two"), 5*second, l)
	l.expect(t, "unreachable 10.0.0.2: two")
	n.Queue(them, []byte("three"), 10*second, l)
	l.expect(t, "request 10.0.0.2 at ff:ff:ff:ff:ff:ff")
}

func TestStaleAddressIsUsedAndProbed(t *testing.T) {
	n, l := newTable()
	n.Queue(them, []byte("one"), second, l)
	n.Receive(message(wire.ARPReply, theirs, them, us), second, l)
	l.entries = nil
	n.Tick(40*second, l)
	got, ok := n.Lookup(them)
	if !ok || got.State != Stale {
		t.Fatalf("got neighbour %+v (%t), want a stale one", got, ok)
	}
	n.MarkUsed(got, 40*second)
	n.Tick(45*second, l)
	l.expect(t, "request 10.0.0.2 at 02:00:00:00:00:02")
	n.Receive(message(wire.ARPReply, theirs, them, us), 46*second, l)
	n.Tick(60*second, l)
	l.expect(t)
	if got.State != Reachable || n.Changes != 1 {
		t.Errorf("got neighbour %+v and %d changes, want a reachable one and 1", got, n.Changes)
	}
}

// A neighbour that does not answer probes any more is no longer used.
func TestNeighbourThatLeavesIsDetected(t *testing.T) {
	n, l := newTable()
	n.Queue(them, []byte("one"), second, l)
	n.Receive(message(wire.ARPReply, theirs, them, us), second, l)
	n.Tick(40*second, l)
	got, _ := n.Lookup(them)
	n.MarkUsed(got, 40*second)
	l.entries = nil
	for s := Time(45); s <= 48; s++ {
		n.Tick(s*second, l)
	}
	l.expect(t, "request 10.0.0.2 at 02:00:00:00:00:02", "request 10.0.0.2 at 02:00:00:00:00:02", "request 10.0.0.2 at 02:00:00:00:00:02")
	if _, ok := n.Lookup(them); ok || n.Changes != 2 {
		t.Errorf("the neighbour is still known, or %d changes are counted, want 2", n.Changes)
	}
}

// Requests for each address of the host are answered. A probe (RFC 5227, section 2.1.1) is
// answered, but its sender is not added; nor is a host that uses our address.
func TestOnlyRequestsForTheHostAreAnswered(t *testing.T) {
	for _, c := range []struct {
		name             string
		op               wire.ARPOperation
		sender, target   netip.Addr
		requested, added bool
	}{
		{"a request", wire.ARPRequest, them, us, true, true},
		{"a request for the other address", wire.ARPRequest, them, alsoUs, true, true},
		{"a request for another host", wire.ARPRequest, them, netip.MustParseAddr("10.0.0.9"), false, false},
		{"an unsolicited answer", wire.ARPReply, them, us, false, false},
		{"a probe", wire.ARPRequest, unspecified, us, true, false},
		{"an announcement of our address", wire.ARPRequest, us, us, false, false},
		{"a request from a host that uses our address", wire.ARPRequest, us, alsoUs, false, false},
	} {
		n, l := newTable()
		if got := n.Receive(message(c.op, theirs, c.sender, c.target), second, l); got != c.requested {
			t.Errorf("%s: Receive returned %t, want %t", c.name, got, c.requested)
		}
		if got := len(n.neighbours) > 0; got != c.added {
			t.Errorf("%s: the sender was added: %t, want %t", c.name, got, c.added)
		}
	}
}

// A request for the host adds its sender; an announcement only updates known neighbours.
func TestOnlyRequestsAddNeighbours(t *testing.T) {
	n, l := newTable()
	if !n.Receive(message(wire.ARPRequest, theirs, them, us), second, l) {
		t.Error("Receive returned false for a request for the host, want true")
	}
	if got, ok := n.Lookup(them); !ok || got.MAC != theirs {
		t.Errorf("got the neighbour %+v, present: %t; want %v", got, ok, theirs)
	}
	third := netip.MustParseAddr("10.0.0.3")
	n.Receive(message(wire.ARPRequest, wire.MAC{2, 0, 0, 0, 0, 3}, third, third), second, l)
	if _, ok := n.Lookup(third); ok {
		t.Error("an announcement added a neighbour, want only known ones updated")
	}
	moved := wire.MAC{2, 0, 0, 0, 0, 9}
	n.Receive(message(wire.ARPRequest, moved, them, them), second, l)
	if got, _ := n.Lookup(them); got.MAC != moved || got.State != Stale {
		t.Errorf("got the neighbour %+v, want %v, stale, as announced", got, moved)
	}
	n.Receive(message(wire.ARPReply, wire.Broadcast, them, us), second, l)
	if got, _ := n.Lookup(them); got.MAC != moved {
		t.Errorf("got the neighbour at %v, want %v: a group MAC address is ignored", got.MAC, moved)
	}
}

// In the published stack, 300 packets for an unresolved neighbour end the program.
func TestWaitingPacketsAreBounded(t *testing.T) {
	n, l := newTable()
	for range 300 {
		n.Queue(them, []byte("x"), second, l)
	}
	if got := len(n.neighbours[them].waitingPackets); got != MaxWaitingPackets || n.Dropped != 300-MaxWaitingPackets {
		t.Errorf("%d packets wait and %d were dropped, want %d and %d", got, n.Dropped, MaxWaitingPackets, 300-MaxWaitingPackets)
	}
	large := make([]byte, 60_000)
	for range 200 {
		n.Queue(netip.AddrFrom4([4]byte{10, 2, 0, byte(len(n.neighbours))}), large, second, l)
	}
	if n.waitingBytes > MaxWaitingBytes {
		t.Errorf("%d bytes wait, want at most %d", n.waitingBytes, MaxWaitingBytes)
	}
	for i := range 5000 {
		n.Queue(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), []byte("x"), second, l)
	}
	if len(n.neighbours) > MaxNeighbours {
		t.Errorf("%d neighbours, want at most %d", len(n.neighbours), MaxNeighbours)
	}
	asked := 0
	for _, s := range l.entries {
		if strings.HasPrefix(s, "request") {
			asked++
		}
	}
	if asked > requestBurst+1 {
		t.Errorf("%d requests at once, want at most %d", asked, requestBurst+1)
	}
}

// Many unresolved addresses do not evict a known neighbour, and a new neighbour can still be
// resolved.
func TestUnresolvedAddressesDoNotEvictNeighbours(t *testing.T) {
	n, l := newTable()
	now := second
	// it requested our address: it is known and stale
	n.Receive(message(wire.ARPRequest, theirs, them, us), now, l)
	for i := range 5 * MaxNeighbours {
		now += second / 100
		n.Queue(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), []byte("unresolved"), now, l)
	}
	if _, ok := n.Lookup(them); !ok || len(n.neighbours) > MaxNeighbours {
		t.Errorf("with %d neighbours, the known one is present: %t, want true and at most %d", len(n.neighbours), ok, MaxNeighbours)
	}
	late := netip.MustParseAddr("10.0.0.3")
	n.Queue(late, []byte("resolved!!"), now, l)
	n.Receive(message(wire.ARPReply, theirs, late, us), now, l)
	if got, ok := n.Lookup(late); !ok || got.State != Reachable {
		t.Errorf("a neighbour that answered: got %+v, present: %t; want it reachable", got, ok)
	}
	waiting := 0
	for _, x := range n.neighbours {
		waiting += x.Waiting()
	}
	if n.waitingBytes != waiting*len("unresolved") {
		t.Errorf("%d waiting packets count as %d bytes, want %d", waiting, n.waitingBytes, waiting*len("unresolved"))
	}
}

// Neither packets to unused addresses nor requests that add their senders evict a neighbour in use.
// A new neighbour can still be resolved, and added.
func TestFloodDoesNotEvictANeighbourInUse(t *testing.T) {
	for name, flood := range map[string]func(n *Table, a netip.Addr, now Time, l *log){
		"packets": func(n *Table, a netip.Addr, now Time, l *log) { n.Queue(a, []byte("unresolved"), now, l) },
		"requests": func(n *Table, a netip.Addr, now Time, l *log) {
			n.Receive(message(wire.ARPRequest, wire.MAC{2, 0, 0, 0, 1, 1}, a, us), now, l)
		},
	} {
		n, l := newTable()
		now := second
		n.Receive(message(wire.ARPRequest, theirs, them, us), now, l)
		neighbour, _ := n.Lookup(them)
		asked := netip.MustParseAddr("10.0.0.4")
		for i := range 20 * MaxNeighbours {
			now += second / 1000
			if i%1000 == 0 {
				n.MarkUsed(neighbour, now)
			}
			if i == 19*MaxNeighbours {
				n.Queue(asked, []byte("resolved!!"), now, l)
			}
			flood(n, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), now, l)
			if i == 19*MaxNeighbours+1 {
				n.Receive(message(wire.ARPReply, wire.MAC{2, 0, 0, 0, 0, 4}, asked, us), now, l)
			}
		}
		if got, ok := n.Lookup(them); !ok || got != neighbour || len(n.neighbours) > MaxNeighbours {
			t.Errorf("a flood of %s: with %d neighbours, the one in use is known: %t, want true", name, len(n.neighbours), ok)
		}
		late := netip.MustParseAddr("10.0.0.3")
		n.Receive(message(wire.ARPRequest, theirs, late, us), now, l)
		if _, ok := n.Lookup(late); !ok {
			t.Errorf("a flood of %s: a host that requests our address was not added, want it added", name)
		}
	}
}

// Answers to hosts that claim ever more addresses do not use up the requests: a neighbour that the
// host dials is requested at once, and is not evicted before it answers.
func TestRequestsAreReservedForOwnPackets(t *testing.T) {
	n, l := newTable()
	now := second
	flood := func(turn int) {
		for i := range 2 * MaxNeighbours {
			now += second / 2000
			n.Queue(netip.AddrFrom4([4]byte{10, byte(turn), byte(i >> 8), byte(i)}), []byte("unresolved"), now, l)
		}
	}
	flood(1)
	for turn := range 5 {
		l.entries = nil
		n.QueueOwn(netip.AddrFrom4([4]byte{10, 0, 1, byte(turn)}), []byte("ours"), now, l)
		if len(l.entries) != 1 || !strings.HasPrefix(l.entries[0], "request") {
			t.Fatalf("after a flood, dialing neighbour %d causes %q, want a request at once", turn, l.entries)
		}
	}
	flood(2)
	for turn := range 5 {
		l.entries = nil
		n.Receive(message(wire.ARPReply, theirs, netip.AddrFrom4([4]byte{10, 0, 1, byte(turn)}), us), now, l)
		l.expect(t, "send ours to "+theirs.String())
	}
}
