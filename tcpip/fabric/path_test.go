package fabric

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// count returns how many of the events contain each text.
func count(events []string, texts ...string) (counts []int) {
	for _, text := range texts {
		n := 0
		for _, e := range events {
			if strings.Contains(e, text) {
				n++
			}
		}
		counts = append(counts, n)
	}
	return counts
}

// Each setting of a path does what it says, to a thousand packets that are sent at once.
func TestPaths(t *testing.T) {
	length := len(there)
	for _, c := range []struct {
		name string
		path Path
		// at least and at most so many are delivered, lost, dropped by a full queue, dropped by
		// CoDel, corrupted
		least, most [5]int
	}{
		{"a perfect path", Path{}, [5]int{1000}, [5]int{1000}},
		{"half are lost", Path{Loss: 0.5}, [5]int{430, 430}, [5]int{570, 570}},
		{"all are lost", Path{Loss: 1}, [5]int{0, 1000}, [5]int{0, 1000}},
		{"bursts", Path{Burst: link.Burst{Start: 0.05, End: 0.05, Loss: 1}}, [5]int{200, 200}, [5]int{800, 800}},
		{"duplicates", Path{Duplicate: 1}, [5]int{2000}, [5]int{2000}},
		{"a short queue", Path{Rate: 8_000_000, Queue: 100 * length}, [5]int{100, 0, 898}, [5]int{102, 0, 900}},
		{"controlled delay", Path{Rate: int64(8 * length * 500), CoDel: true}, [5]int{900, 0, 0, 5}, [5]int{995, 0, 0, 100}},
		{"corrupted", Path{Corrupt: 1}, [5]int{1000, 0, 0, 0, 960}, [5]int{1000, 0, 0, 0, 1000}},
		{"reordered", Path{Reorder: 0.5}, [5]int{1000}, [5]int{1000}},
	} {
		inLab(t, Config{Seed: 1}, func(l *lab) {
			l.silent = true
			a, b := l.host("a"), l.host("b")
			l.join(c.path, a, b)
			for range 1000 {
				l.write(a, there)
			}
			got := count(l.pass(time.Minute), "b gets", ": lost", ": queue full", ": codel", "wrong checksum")
			for n := range got {
				if got[n] < c.least[n] || got[n] > c.most[n] {
					t.Errorf("%s: got %v packets delivered, lost, dropped by the queue, by CoDel, and corrupted; want %v to %v", c.name, got, c.least, c.most)
					break
				}
			}
		})
	}
}

// A flipped bit passes routers and NATs: what they change they update, and the receiver notices.
func TestACorruptedPacketStaysCorrupted(t *testing.T) {
	for seed := range uint64(200) {
		inLab(t, Config{Seed: seed}, func(l *lab) {
			l.silent = true
			server, nat := l.host("server"), must(t)(l.NAT("nat", NATConfig{}))
			r := must(t)(nat.Router("r"))
			in := l.attach(must(t)(nat.HostWith("in", HostConfig{})))
			l.join(Path{Corrupt: 1}, in, r)
			l.join(Path{}, r, nat, server)
			for _, b := range [][]byte{udp("192.168.1.3:5", "10.0.0.1:7"), tcp("192.168.1.3:5", "10.0.0.1:7"), echo("192.168.1.3", "10.0.0.1", 5), echo("192.168.1.3", "192.168.1.1", 5)} {
				l.write(in, b)
			}
			for _, e := range l.pass(time.Second) {
				if strings.Contains(e, " gets ") && !strings.Contains(e, "wrong checksum") && !strings.Contains(e, "error") {
					t.Errorf("seed %d: %s, want a wrong checksum", seed, e)
				}
			}
		})
	}
}

// With Ordered, the same seed gives the same events at the same times, in whatever order the
// goroutines of an instant run; and another seed gives others.
func TestASeedRepeatsTheEvents(t *testing.T) {
	run := func(seed uint64) (events []string) {
		inLab(t, Config{Seed: seed, Ordered: true}, func(l *lab) {
			a, b, c, s := l.host("a"), l.host("b"), l.host("c"), must(t)(l.Switch("s"))
			for _, n := range []*Node{a, b, c} {
				l.join(Path{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.1, Duplicate: 0.1, Reorder: 0.1}, n, s)
			}
			for round := range 20 {
				for n, from := range []*Node{a, b, c} {
					for port := range 3 {
						go l.write(from, udp(fmt.Sprintf("10.0.0.%d:%d", n+1, port+1), fmt.Sprintf("10.0.0.%d:%d", (n+1+round)%3+1, round+1)))
					}
				}
				for _, e := range l.pass(2 * time.Millisecond) {
					events = append(events, fmt.Sprintf("%d: %s", round, e))
				}
			}
			events = append(events, l.pass(time.Second)...)
		})
		return events
	}
	first := run(1)
	for range 10 {
		if again := run(1); !slices.Equal(again, first) {
			t.Fatalf("got other events for the same seed:\n%s\nwant\n%s", strings.Join(again, "\n"), strings.Join(first, "\n"))
		}
	}
	if slices.Equal(run(2), first) {
		t.Error("got the same events for another seed, want others")
	}
}

// With Ordered, hosts get each packet at a nanosecond of its own, also those that were held or are
// copies: so what the goroutines of a host do about one is done before the next one. No packet
// arrives at the instant at which a timer of its sender with the delay of the link runs out.
func TestHostsGetOnePacketAtAnInstant(t *testing.T) {
	var at []time.Time
	observe := func(e Event) {
		if e.Kind == EventDelivered {
			at = append(at, e.At)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, Network: New(Config{Ordered: true, Observe: observe}), links: map[*Node]link.Link{}}
		began := time.Now()
		a, b := l.host("a"), l.host("b")
		wire := l.join(Path{Duplicate: 1}, a, b)[0]
		b.Pause()
		for range 400 {
			l.write(a, there)
		}
		time.Sleep(time.Second)
		b.Resume()
		time.Sleep(time.Second)
		wire.Set(Path{Delay: time.Millisecond}, Path{}) //nolint:errcheck // it is valid
		for range 3000 {
			l.write(a, there)
			time.Sleep(2 * time.Microsecond)
		}
		time.Sleep(time.Second)
		l.Close()
		for n := 1; n < len(at); n++ {
			if !at[n].After(at[n-1]) {
				t.Fatalf("packet %d was delivered %v after the one before, want 1ns or more", n, at[n].Sub(at[n-1]))
			}
		}
		for _, one := range at {
			if one.Sub(began)%time.Microsecond == 0 {
				t.Errorf("a packet arrived after %v, want no whole number of microseconds", one.Sub(began))
			}
		}
		for _, nic := range l.links {
			nic.Close()
		}
	})
	if len(at) != 3800 {
		t.Errorf("got %d packets, want 3,800", len(at))
	}
}

// A path that is invalid is refused, and changes nothing.
func TestInvalidPathsAreRefused(t *testing.T) {
	inPair(t, func(l *lab, a, b *Node) {
		good := Path{Delay: time.Second}
		one := l.join(good, a, b)[0]
		for name, p := range map[string]Path{
			"a negative delay":         {Delay: -1},
			"a negative jitter":        {Jitter: -1},
			"a negative rate":          {Rate: -1},
			"a negative queue":         {Queue: -1, Rate: 1000},
			"an MTU below 68":          {MTU: 67},
			"a negative MTU":           {MTU: -1},
			"an MTU above 65,535":      {MTU: 65536},
			"a loss of 1.1":            {Loss: 1.1},
			"a negative loss":          {Loss: -0.1},
			"a loss that is no number": {Loss: math.NaN()},
			"a burst of 2":             {Burst: link.Burst{Start: 2, End: 1, Loss: 1}},
			"duplicates of 2":          {Duplicate: 2},
			"corruption of 2":          {Corrupt: 2},
			"corruption of no number":  {Corrupt: math.NaN()},
			"reordering of 2":          {Reorder: 2},
			"a negative reorder delay": {Reorder: 1, ReorderDelay: -1},
		} {
			if _, err := l.Connect(a, b, good, p); err == nil {
				t.Errorf("Connect with %s: got no error, want one", name)
			}
			if err := one.Set(Path{Delay: time.Minute}, p); err == nil {
				t.Errorf("Set with %s: got no error, want one", name)
			}
		}
		if there, back := one.Paths(); there != good || back != good || len(l.Network.links) != 2 {
			t.Errorf("got the paths %+v and %+v and %d links, want those before, and 2", there, back, len(l.Network.links))
		}
	})
}

// Names, addresses and settings that cannot work are refused.
func TestInvalidNodesAreRefused(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		addrs := func(texts ...string) HostConfig {
			var c HostConfig
			for _, text := range texts {
				p, _ := netip.ParsePrefix(text)
				c.Addrs = append(c.Addrs, p)
			}
			return c
		}
		foreign, err := New(Config{}).Host("foreign")
		if err != nil {
			t.Fatal(err)
		}
		errorOf := func(_ *Node, err error) error { return err }
		link := func(a, b *Node) error {
			_, err := h.Connect(a, b, Path{}, Path{})
			return err
		}
		for name, err := range map[string]error{
			"no name":                           errorOf(h.Host("")),
			"a name that is taken":              errorOf(h.Router("server")),
			"a name that is taken inside":       errorOf(h.nat.Switch("server")),
			"an address that is taken":          errorOf(h.HostWith("x", addrs("10.0.0.1/8"))),
			"an address that is taken inside":   errorOf(h.nat.HostWith("x", addrs("192.168.1.1/24"))),
			"an address twice":                  errorOf(h.HostWith("x", addrs("10.1.0.1/8", "10.1.0.1/8"))),
			"no address":                        errorOf(h.HostWith("x", addrs("nonsense"))),
			"a multicast address":               errorOf(h.HostWith("x", addrs("224.0.0.1/8"))),
			"a multicast address of IPv6":       errorOf(h.HostWith("x", addrs("ff02::1/64"))),
			"the broadcast address":             errorOf(h.HostWith("x", addrs("255.255.255.255/8"))),
			"the network's broadcast address":   errorOf(h.HostWith("x", addrs("10.255.255.255/8"))),
			"the unspecified address":           errorOf(h.HostWith("x", addrs("0.0.0.0/8"))),
			"a loopback address":                errorOf(h.HostWith("x", addrs("127.0.0.1/8"))),
			"IPv4 as IPv6":                      errorOf(h.HostWith("x", addrs("::ffff:10.1.0.1/104"))),
			"IPv6 behind a NAT":                 errorOf(h.nat.HostWith("x", addrs("fd00::9/64"))),
			"an MTU below 68":                   errorOf(h.HostWith("x", HostConfig{MTU: 67})),
			"a negative MTU":                    errorOf(h.HostWith("x", HostConfig{MTU: -1})),
			"an MTU above 65,535":               errorOf(h.HostWith("x", HostConfig{MTU: 65536})),
			"a NAT's negative timeout":          errorOf(h.NAT("x", NATConfig{TCPTimeout: -1})),
			"a NAT's negative timeout for UDP":  errorOf(h.nat.NAT("x", NATConfig{UDPTimeout: -1})),
			"a host behind a host":              errorOf(h.server.HostWith("x", HostConfig{})),
			"a switch behind a host":            errorOf(h.server.Switch("x")),
			"a NAT behind a host":               errorOf(h.server.NAT("x", NATConfig{})),
			"a link to itself":                  link(h.in, h.in),
			"a link to nothing":                 link(h.in, nil),
			"a link to another network's node":  link(h.in, foreign),
			"a link from the inside to outside": link(h.in, h.server),
		} {
			if err == nil {
				t.Errorf("%s: got no error, want one", name)
			}
		}
		if _, err := h.HostWith("x", HostConfig{}); err != nil {
			t.Errorf("a valid host after all of these: got error %v, want none", err)
		}
	})
}

// arrived is a packet that was delivered: its length, and when since the start of the test.
type arrived struct {
	length int
	after  time.Duration
}

// inOrderedPair runs a test with a link between two hosts of an ordered network. got returns what
// was delivered.
func inOrderedPair(t *testing.T, p Path, test func(wire *Link, write func(length int), got func() []arrived)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var all []arrived
		observe := func(e Event) {
			if e.Kind == EventDelivered {
				all = append(all, arrived{len(e.Packet) - 28, e.At.Sub(began)})
			}
		}
		l := &lab{t: t, Network: New(Config{Ordered: true, Observe: observe}), links: map[*Node]link.Link{}}
		a, b := l.host("a"), l.host("b")
		wire := l.join(p, a, b)[0]
		test(wire, func(length int) {
			l.write(a, datagram{from: "10.0.0.1:1", to: "10.0.0.2:2", length: length}.bytes())
		}, func() []arrived {
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Clone(all)
		})
		l.Close()
		for _, nic := range l.links {
			nic.Close()
		}
	})
}

// With Ordered too, a burst keeps its order but for the packets that the path delays.
func TestOnlyDelayedPacketsAreOvertaken(t *testing.T) {
	inOrderedPair(t, Path{Reorder: 0.05, ReorderDelay: time.Millisecond}, func(_ *Link, write func(int), got func() []arrived) {
		for n := range 1000 {
			write(n)
		}
		time.Sleep(time.Second)
		late, last := 0, 0
		for _, p := range got() {
			switch {
			case p.after >= time.Millisecond:
				late++
			case p.length < last:
				t.Fatalf("a packet of %d bytes arrived behind one of %d, want the order of the burst", p.length, last)
			default:
				last = p.length
			}
		}
		if late < 20 || late > 100 || len(got()) != 1000 {
			t.Errorf("got %d of %d packets late, want about 50 of 1,000", late, len(got()))
		}
	})
}

// A path that is changed to another rate does not keep later packets behind those that wait for the
// old one; these arrive when they would have arrived.
func TestAnotherRateIsUsedAtOnce(t *testing.T) {
	inOrderedPair(t, Path{Rate: 8000}, func(wire *Link, write func(int), got func() []arrived) {
		for range 100 {
			write(972) // a second each
		}
		time.Sleep(1500 * time.Millisecond)
		wire.Set(Path{Rate: 8_000_000}, Path{}) //nolint:errcheck // it is valid
		write(1)
		time.Sleep(time.Millisecond)
		if all := got(); len(all) != 2 || all[1].length != 1 {
			t.Errorf("got the packets %v within a millisecond of a faster rate, want one of 1 byte last", all)
		}
		time.Sleep(time.Minute * 2)
		if n := len(got()); n != 101 {
			t.Errorf("got %d packets in all, want 101", n)
		}
	})
}

// A delay that no time can hold is not over at once.
func TestTheLargestDelayIsLong(t *testing.T) {
	inOrderedPair(t, Path{Delay: math.MaxInt64, Jitter: math.MaxInt64}, func(_ *Link, write func(int), got func() []arrived) {
		for range 10 {
			write(1)
		}
		time.Sleep(100 * 365 * 24 * time.Hour)
		if all := got(); len(all) > 0 {
			t.Errorf("got the packets %v within a hundred years, want none", all)
		}
	})
}
