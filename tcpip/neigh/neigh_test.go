package neigh

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/wire"
)

// log writes down what the table wants.
type log struct{ said []string }

func (l *log) Ask(target netip.Addr, at wire.MAC)  { l.add("ask %v at %v", target, at) }
func (l *log) Release(n *Neighbour, packet []byte) { l.add("send %s to %v", packet, n.MAC) }
func (l *log) Unreachable(a netip.Addr, p []byte)  { l.add("lost %s for %v", p, a) }
func (l *log) add(format string, args ...any)      { l.said = append(l.said, fmt.Sprintf(format, args...)) }
func (l *log) wants(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(l.said, lines) {
		t.Errorf("wanted %q\n  want %q", l.said, lines)
	}
	l.said = nil
}

var (
	us, them     = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	alsoUs       = netip.MustParseAddr("10.0.0.11")
	nobody       = netip.IPv4Unspecified()
	ours, theirs = wire.MAC{2, 0, 0, 0, 0, 1}, wire.MAC{2, 0, 0, 0, 0, 2}
)

const second = Time(time.Second)

func message(op wire.ARPOperation, from wire.MAC, sender, target netip.Addr) wire.ARP {
	m, _ := wire.ParseARP(wire.AppendARP(nil, op, from, sender, ours, target))
	return m
}

func table() (*Table, *log) { return &Table{MAC: ours, Addrs: []netip.Addr{us, alsoUs}}, &log{} }

func TestANeighbourIsAskedForAndAnswers(t *testing.T) {
	n, l := table()
	now := second
	n.Wait(them, []byte("one"), now, l)
	n.Wait(them, []byte("two"), now, l)
	l.wants(t, "ask 10.0.0.2 at ff:ff:ff:ff:ff:ff")
	if n.Receive(message(wire.ARPReply, theirs, them, us), now, l) {
		t.Error("an answer is a question")
	}
	l.wants(t, "send one to 02:00:00:00:00:02", "send two to 02:00:00:00:00:02")
	if got, ok := n.Lookup(them, now); !ok || got.MAC != theirs || got.State != Reachable {
		t.Errorf("%+v", got)
	}
}

func TestOneWhoDoesNotAnswerIsGivenUp(t *testing.T) {
	n, l := table()
	n.Wait(them, []byte("one"), second, l)
	for s := 1; s <= 4; s++ {
		n.Tick(Time(s)*second+second, l)
	}
	l.wants(t, "ask 10.0.0.2 at ff:ff:ff:ff:ff:ff", "ask 10.0.0.2 at ff:ff:ff:ff:ff:ff", "ask 10.0.0.2 at ff:ff:ff:ff:ff:ff", "lost one for 10.0.0.2")
	n.Wait(them, []byte("two"), 5*second, l)
	l.wants(t, "lost two for 10.0.0.2")
	n.Wait(them, []byte("three"), 10*second, l)
	l.wants(t, "ask 10.0.0.2 at ff:ff:ff:ff:ff:ff")
}

func TestAStaleAddressIsUsedAndAskedAbout(t *testing.T) {
	n, l := table()
	n.Wait(them, []byte("one"), second, l)
	n.Receive(message(wire.ARPReply, theirs, them, us), second, l)
	l.said = nil
	n.Tick(40*second, l)
	got, ok := n.Lookup(them, 40*second)
	if !ok || got.State != Stale {
		t.Fatalf("%+v %t", got, ok)
	}
	n.Used(got, 40*second)
	n.Tick(45*second, l)
	l.wants(t, "ask 10.0.0.2 at 02:00:00:00:00:02")
	n.Receive(message(wire.ARPReply, theirs, them, us), 46*second, l)
	n.Tick(60*second, l)
	l.wants(t)
	if got.State != Reachable || n.Changes != 1 {
		t.Errorf("%+v, %d changes", got, n.Changes)
	}
}

// One that is asked about and does not answer any more is no longer where it was.
func TestOneWhoGoesAway(t *testing.T) {
	n, l := table()
	n.Wait(them, []byte("one"), second, l)
	n.Receive(message(wire.ARPReply, theirs, them, us), second, l)
	n.Tick(40*second, l)
	got, _ := n.Lookup(them, 40*second)
	n.Used(got, 40*second)
	l.said = nil
	for s := Time(45); s <= 48; s++ {
		n.Tick(s*second, l)
	}
	l.wants(t, "ask 10.0.0.2 at 02:00:00:00:00:02", "ask 10.0.0.2 at 02:00:00:00:00:02", "ask 10.0.0.2 at 02:00:00:00:00:02")
	if _, ok := n.Lookup(them, 48*second); ok || n.Changes != 2 {
		t.Errorf("it is still there: %d changes", n.Changes)
	}
}

// Every address of the host's is answered for. A probe (RFC 5227, section 2.1.1) is answered, but
// who sends it is no neighbour; nor is who has our address.
func TestWhoIsAnswered(t *testing.T) {
	for _, c := range []struct {
		name           string
		op             wire.ARPOperation
		sender, target netip.Addr
		asked, known   bool
	}{
		{"a question", wire.ARPRequest, them, us, true, true},
		{"a question for the other address", wire.ARPRequest, them, alsoUs, true, true},
		{"a question for somebody else", wire.ARPRequest, them, netip.MustParseAddr("10.0.0.9"), false, false},
		{"an answer that nobody asked for", wire.ARPReply, them, us, false, false},
		{"a probe", wire.ARPRequest, nobody, us, true, false},
		{"an announcement of our address", wire.ARPRequest, us, us, false, false},
		{"a question of who has our address", wire.ARPRequest, us, alsoUs, false, false},
	} {
		n, l := table()
		if got := n.Receive(message(c.op, theirs, c.sender, c.target), second, l); got != c.asked {
			t.Errorf("%s: asked for us: %t", c.name, got)
		}
		if got := len(n.all) > 0; got != c.known {
			t.Errorf("%s: the sender is known: %t", c.name, got)
		}
	}
}

// A question makes the asker known, and an announcement changes only those who are known.
func TestWhatOthersSay(t *testing.T) {
	n, l := table()
	if !n.Receive(message(wire.ARPRequest, theirs, them, us), second, l) {
		t.Error("the question was for us")
	}
	if got, ok := n.Lookup(them, second); !ok || got.MAC != theirs {
		t.Errorf("%+v %t", got, ok)
	}
	third := netip.MustParseAddr("10.0.0.3")
	n.Receive(message(wire.ARPRequest, wire.MAC{2, 0, 0, 0, 0, 3}, third, third), second, l)
	if _, ok := n.Lookup(third, second); ok {
		t.Error("who announces himself to everybody is known")
	}
	moved := wire.MAC{2, 0, 0, 0, 0, 9}
	n.Receive(message(wire.ARPRequest, moved, them, them), second, l)
	if got, _ := n.Lookup(them, second); got.MAC != moved || got.State != Stale {
		t.Errorf("%+v", got)
	}
	n.Receive(message(wire.ARPReply, wire.Broadcast, them, us), second, l)
	if got, _ := n.Lookup(them, second); got.MAC != moved {
		t.Error("a neighbour has everybody's address")
	}
}

// As published, 300 packets for a silent neighbour end the program.
func TestPacketsForASilentNeighbourAreBounded(t *testing.T) {
	n, l := table()
	for range 300 {
		n.Wait(them, []byte("x"), second, l)
	}
	if got := len(n.all[them].waiting); got != Waiting || n.Dropped != 300-Waiting {
		t.Errorf("%d wait, %d were dropped", got, n.Dropped)
	}
	large := make([]byte, 60_000)
	for range 200 {
		n.Wait(netip.AddrFrom4([4]byte{10, 2, 0, byte(len(n.all))}), large, second, l)
	}
	if n.bytes > Bytes {
		t.Errorf("%d bytes wait", n.bytes)
	}
	for i := range 5000 {
		n.Wait(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), []byte("x"), second, l)
	}
	if len(n.all) > Most {
		t.Errorf("%d neighbours", len(n.all))
	}
	asked := 0
	for _, s := range l.said {
		if s[:3] == "ask" {
			asked++
		}
	}
	if asked > burst+1 {
		t.Errorf("%d requests at once", asked)
	}
}

// Those who are there are not forgotten for many who are not, and one who comes then is found.
func TestManyWhoAreNotThereDoNotDriveOutThoseWhoAre(t *testing.T) {
	n, l := table()
	now := second
	// it asked for us: its address is known, and old
	n.Receive(message(wire.ARPRequest, theirs, them, us), now, l)
	for i := range 5 * Most {
		now += second / 100
		n.Wait(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), []byte("to nobody"), now, l)
	}
	if _, ok := n.Lookup(them, now); !ok || len(n.all) > Most {
		t.Errorf("of %d neighbours the one that is there is known: %t", len(n.all), ok)
	}
	late := netip.MustParseAddr("10.0.0.3")
	n.Wait(late, []byte("to somebody"), now, l)
	n.Receive(message(wire.ARPReply, theirs, late, us), now, l)
	if got, ok := n.Lookup(late, now); !ok || got.State != Reachable {
		t.Error("one who answers is not found")
	}
	waiting := 0
	for _, x := range n.all {
		waiting += x.Waiting()
	}
	if n.bytes != waiting*len("to nobody") {
		t.Errorf("%d packets wait, and count for %d bytes", waiting, n.bytes)
	}
}

// Neither packets from addresses that nobody has nor requests that make their senders known drive
// out a neighbour that is in use; one that comes then is found, and known.
func TestAFloodDoesNotDisplaceANeighbourInUse(t *testing.T) {
	for name, flood := range map[string]func(n *Table, a netip.Addr, now Time, l *log){
		"packets": func(n *Table, a netip.Addr, now Time, l *log) { n.Wait(a, []byte("to nobody"), now, l) },
		"requests": func(n *Table, a netip.Addr, now Time, l *log) {
			n.Receive(message(wire.ARPRequest, wire.MAC{2, 0, 0, 0, 1, 1}, a, us), now, l)
		},
	} {
		n, l := table()
		now := second
		n.Receive(message(wire.ARPRequest, theirs, them, us), now, l)
		neighbour, _ := n.Lookup(them, now)
		asked := netip.MustParseAddr("10.0.0.4")
		for i := range 20 * Most {
			now += second / 1000
			if i%1000 == 0 {
				n.Used(neighbour, now)
			}
			if i == 19*Most {
				n.Wait(asked, []byte("to somebody"), now, l)
			}
			flood(n, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), now, l)
			if i == 19*Most+1 {
				n.Receive(message(wire.ARPReply, wire.MAC{2, 0, 0, 0, 0, 4}, asked, us), now, l)
			}
		}
		if got, ok := n.Lookup(them, now); !ok || got != neighbour || len(n.all) > Most {
			t.Errorf("a flood of %s: of %d neighbours the one in use is known: %t, want that it is", name, len(n.all), ok)
		}
		late := netip.MustParseAddr("10.0.0.3")
		n.Receive(message(wire.ARPRequest, theirs, late, us), now, l)
		if _, ok := n.Lookup(late, now); !ok {
			t.Errorf("a flood of %s: one that asks for us then is not known", name)
		}
	}
}

// Answers to strangers, who claim ever more addresses, do not use up the requests: a neighbour that
// the host dials is asked for at once, and is not displaced before it answers.
func TestAFloodLeavesRequestsToTheHostsOwnPackets(t *testing.T) {
	n, l := table()
	now := second
	flood := func(turn int) {
		for i := range 2 * Most {
			now += second / 2000
			n.Wait(netip.AddrFrom4([4]byte{10, byte(turn), byte(i >> 8), byte(i)}), []byte("to nobody"), now, l)
		}
	}
	flood(1)
	for turn := range 5 {
		l.said = nil
		n.WaitOwn(netip.AddrFrom4([4]byte{10, 0, 1, byte(turn)}), []byte("ours"), now, l)
		if len(l.said) != 1 || l.said[0][:3] != "ask" {
			t.Fatalf("behind a flood neighbour %d that the host dials gives %q, want a request at once", turn, l.said)
		}
	}
	flood(2)
	for turn := range 5 {
		l.said = nil
		n.Receive(message(wire.ARPReply, theirs, netip.AddrFrom4([4]byte{10, 0, 1, byte(turn)}), us), now, l)
		l.wants(t, "send ours to "+theirs.String())
	}
}
