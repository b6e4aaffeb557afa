package ip

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"weir/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

var (
	alice = netip.MustParseAddr("10.0.0.1")
	bob   = netip.MustParseAddr("10.0.0.2")
)

func fields(id uint16) wire.IPv4Fields {
	return wire.IPv4Fields{TOS: 4, ID: id, TTL: 64, Protocol: wire.UDPProtocol, Src: alice, Dst: bob}
}

// fragments returns the fragments of a packet with a random payload of length bytes.
func fragments(id uint16, length, mtu int) (all [][]byte, payload []byte) {
	payload = make([]byte, length)
	rand.NewChaCha8([32]byte{byte(id)}).Read(payload)
	Fragment(fields(id), payload, mtu, func(h, p []byte) { all = append(all, append(bytes.Clone(h), p...)) })
	return all, payload
}

func parse(t interface{ Fatal(...any) }, b []byte) wire.IPv4 {
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK || !p.ChecksumOK() {
		t.Fatal("got a packet with the fault ", fault, ", want a valid header and checksum")
	}
	return p
}

// Fragments in any order, with duplicates, yield their packet once.
func TestReassemblyInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, payload := fragments(7, rapid.IntRange(1, 20_000).Draw(t, "length"), rapid.IntRange(68, 1500).Draw(t, "mtu"))
		order := rapid.Permutation(all).Draw(t, "order")
		a := NewReassembler(Limits{RangesPerPacket: 1000})
		complete := 0
		for i, b := range order {
			p := parse(t, b)
			if !p.IsFragment() {
				return
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				got, o := a.Add(p, 1)
				if o == Complete {
					complete++
					if i != len(order)-1 || !bytes.Equal(got.Payload(), payload) || !got.ChecksumOK() || got.IsFragment() || got.TOS() != 4 {
						t.Fatalf("after fragment %d of %d: got a packet with %d bytes of payload that is wrong or early, want the whole packet after the last fragment, with its checksum and TOS", i+1, len(order), len(got.Payload()))
					}
					break
				} else if o != Incomplete && o != Duplicate {
					t.Fatalf("fragment %d of %d: got outcome %v, want Incomplete or Duplicate", i, len(order), o)
				}
			}
		}
		if complete != 1 || a.HeldBytes() != 0 {
			t.Fatalf("the packet was complete %d times with %d bytes held after, want once and 0", complete, a.HeldBytes())
		}
	})
}

func TestOverlappingFragmentsDiscardThePacket(t *testing.T) {
	all, _ := fragments(1, 4000, 1500)
	f := fields(1)
	f.FragmentOffset, f.MoreFragments, f.Payload = 1472, true, 16
	overlapping := append(wire.AppendIPv4(nil, &f), make([]byte, 16)...)
	a := NewReassembler(Limits{})
	for _, c := range []struct {
		b    []byte
		want Outcome
	}{{all[0], Incomplete}, {overlapping, Overlaps}, {all[1], Overlaps}, {all[2], Overlaps}} {
		if _, o := a.Add(parse(t, c.b), 1); o != c.want {
			t.Errorf("got outcome %v, want %v", o, c.want)
		}
	}
	if a.HeldBytes() != reassemblyCost {
		t.Errorf("%d bytes are held for a discarded packet, want %d", a.HeldBytes(), reassemblyCost)
	}
	a.Tick(1<<62, func([]byte) { t.Error("a discarded packet was reported as expired, want no report") })
	if a.HeldBytes() != 0 {
		t.Errorf("%d bytes are held in the end, want 0", a.HeldBytes())
	}
}

// Fragments with different boundaries, duplicated or missing, never yield a packet other than the
// one sent.
func TestReassemblyNeverYieldsAnotherPacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(1, 6000).Draw(t, "length")
		all, payload := fragments(7, length, rapid.IntRange(68, 1500).Draw(t, "mtu"))
		others, _ := fragments(7, length, rapid.IntRange(68, 1500).Draw(t, "other mtu"))
		a := NewReassembler(Limits{})
		for range rapid.IntRange(1, 200).Draw(t, "fragments") {
			p := parse(t, rapid.SampledFrom(append(all, others...)).Draw(t, "fragment"))
			if !p.IsFragment() {
				return
			}
			if got, o := a.Add(p, 1); o == Complete && !bytes.Equal(got.Payload(), payload) {
				t.Fatalf("got a wrong packet of %d bytes, want %d", len(got.Payload()), length)
			}
		}
	})
}

// A packet is marked CE if one of its fragments is (RFC 3168, section 5.3).
func TestReassemblyKeepsCEMarks(t *testing.T) {
	for _, c := range []struct {
		marks [3]uint8
		tos   uint8
		want  Outcome
	}{{[3]uint8{2, 2, 2}, 2, Complete}, {[3]uint8{2, 3, 2}, 3, Complete}, {[3]uint8{1, 1, 3}, 3, Complete}, {[3]uint8{0, 0, 0}, 0, Complete}, {[3]uint8{0, 3, 0}, 0, Malformed}} {
		a := NewReassembler(Limits{})
		all, _ := fragments(1, 4000, 1500)
		var o Outcome
		var got wire.IPv4
		for i, b := range all {
			b[1] = c.marks[i]
			got, o = a.Add(wire.IPv4(b), 1)
		}
		if o != c.want || o == Complete && got.TOS() != c.tos {
			t.Errorf("%v: got outcome %v, want %v", c.marks, o, c.want)
		}
	}
}

func TestImpossibleFragmentsAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		offset, length int
		more           bool
		want           Outcome
	}{
		"a middle of 7 bytes":         {0, 7, true, Malformed},
		"a middle of nothing":         {8, 0, true, Malformed},
		"beyond the largest packet":   {65528, 100, false, TooLarge},
		"at the largest packet's end": {65496, 19, false, Incomplete},
	} {
		f := fields(1)
		f.FragmentOffset, f.MoreFragments, f.Payload = c.offset, c.more, c.length
		if _, o := NewReassembler(Limits{}).Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, c.length)...)), 1); o != c.want {
			t.Errorf("%s: got outcome %v, want %v", name, o, c.want)
		}
	}
}

// A packet that is too large only with the options of its first fragment is discarded, in whatever
// order its fragments arrive.
func TestOptionsMakeAPacketTooLarge(t *testing.T) {
	for options, want := range map[int]Outcome{0: Complete, 4: TooLarge, 40: TooLarge} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			a := NewReassembler(Limits{})
			one, two := fields(1), fields(1)
			one.Options, one.MoreFragments, one.Payload = bytes.Repeat([]byte{1}, options), true, 1480
			two.FragmentOffset, two.Payload = 1480, wire.IPv4Largest-wire.IPv4Header-1480
			var all [2][]byte
			for i, f := range []wire.IPv4Fields{one, two} {
				all[i] = append(wire.AppendIPv4(nil, &f), make([]byte, f.Payload)...)
			}
			a.Add(parse(t, all[order[0]]), 1)
			whole, o := a.Add(parse(t, all[order[1]]), 1)
			if o != want || o == Complete && (len(whole) != wire.IPv4Largest || len(parse(t, whole)) != wire.IPv4Largest) {
				t.Errorf("%d bytes of options, order %v: got outcome %v, want %v", options, order, o, want)
			}
		}
	}
}

// Memory, time and the number of packets are bounded.
func TestReassemblyIsBounded(t *testing.T) {
	a := NewReassembler(Limits{Memory: 10_000, PacketsPerSource: 8, Timeout: time.Second})
	for id := range uint16(20) {
		all, _ := fragments(id, 4000, 1500)
		a.Add(parse(t, all[0]), Time(id+1))
		if a.HeldBytes() > 10_000 || len(a.reassemblies) > 8 {
			t.Fatalf("%d bytes in %d packets are held, want at most 10000 in 8", a.HeldBytes(), len(a.reassemblies))
		}
	}
	all, _ := fragments(100, 60_000, 68)
	b := NewReassembler(Limits{RangesPerPacket: 4})
	for i := 0; i < 10; i += 2 {
		b.Add(parse(t, all[i]), 1)
	}
	if b.HeldBytes() != reassemblyCost {
		t.Errorf("a packet with too many ranges is held, want it discarded")
	}
	c := NewReassembler(Limits{Memory: 100_000})
	for i := range 5000 { // the last eight bytes of large packets, from many sources
		f := fields(uint16(i))
		f.Src, f.FragmentOffset, f.Payload = netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 65504, 8
		if _, o := c.Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 8)...)), 1); o != Incomplete {
			t.Fatalf("fragment %d: got outcome %v, want incomplete", i, o)
		}
	}
	if c.HeldBytes() > 100_000 || len(c.reassemblies) < 100 {
		t.Errorf("%d bytes in %d packets are held, want at most 100000 in at least 100", c.HeldBytes(), len(c.reassemblies))
	}
	expired := 0
	if next := a.Tick(Time(time.Second)+17, func(first []byte) { expired++ }); next == 0 || expired == 0 {
		t.Errorf("%d packets expired and the next deadline is %v, want some of both", expired, next)
	}
	a.Tick(Time(time.Minute), func([]byte) {})
	if a.HeldBytes() != 0 || len(a.reassemblies) != 0 || len(a.sources) != 0 {
		t.Errorf("after a minute %d bytes in %d packets are held, want none", a.HeldBytes(), len(a.reassemblies))
	}
}

// eightBytes is a fragment of eight bytes of a packet that is never completed.
func eightBytes(t *testing.T, src netip.Addr, id uint16) wire.IPv4 {
	f := fields(id)
	f.Src, f.MoreFragments, f.Payload = src, true, 8
	return parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 8)...))
}

// A flood of fragments, with its own or a forged source address, does not prevent reassembly: each
// source evicts its own oldest packets (as in Linux).
func TestFragmentFloodDoesNotPreventReassembly(t *testing.T) {
	mallory := netip.MustParseAddr("10.0.0.66")
	for name, flooder := range map[string]netip.Addr{"from the sender's address": alice, "from another address": mallory} {
		a := NewReassembler(Limits{})
		now := Time(1)
		for id := range uint16(10_000) {
			a.Add(eightBytes(t, flooder, 1000+id), now)
		}
		all, payload := fragments(7, 4000, 1500)
		for i, b := range all {
			got, o := a.Add(parse(t, b), now)
			if last := i == len(all)-1; last && (o != Complete || !bytes.Equal(got.Payload(), payload)) || !last && o != Incomplete {
				t.Errorf("a flood %s: fragment %d of %d has outcome %v, want Incomplete, and after the last one Complete", name, i+1, len(all), o)
			}
			for id := range uint16(20) { // the flood continues between the fragments
				a.Add(eightBytes(t, flooder, 20_000+uint16(i)*20+id), now)
			}
		}
	}
}

// A source that sends large incomplete packets does not evict those of others.
func TestOneSourceDoesNotEvictOthersFragments(t *testing.T) {
	a := NewReassembler(Limits{PacketsPerSource: 1 << 20})
	all, _ := fragments(7, 4000, 1500)
	a.Add(parse(t, all[0]), 1)
	mallory := netip.MustParseAddr("10.0.0.66")
	for id := range uint16(5000) {
		f := fields(id)
		f.Src, f.MoreFragments, f.Payload = mallory, true, 1480
		a.Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 1480)...)), 2)
	}
	if held := a.sources[mallory].heldBytes; held > a.MaxBytes()/4 {
		t.Errorf("one source holds %d bytes of %d, want a quarter at most", held, a.MaxBytes())
	}
	for i, b := range all[1:] {
		if _, o := a.Add(parse(t, b), 3); i == len(all)-2 && o != Complete {
			t.Errorf("the packet of another source has outcome %v, want complete", o)
		}
	}
}

func FuzzReassembler(f *testing.F) {
	all, _ := fragments(3, 3000, 1000)
	f.Add(bytes.Join(all, nil), uint8(100))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		a := NewReassembler(Limits{Memory: 1 << 17})
		for now := Time(1); len(b) > wire.IPv4Header; now++ {
			p, fault := wire.ParseIPv4(b)
			if fault != wire.OK {
				b = b[1:]
				continue
			}
			if got, o := a.Add(p, now*Time(step)*1e6); o == Complete && (len(got) > wire.IPv4Largest || !got.ChecksumOK()) {
				t.Fatalf("got a packet of %d bytes, right checksum %t; want at most %d bytes and a right checksum", len(got), got.ChecksumOK(), wire.IPv4Largest)
			}
			if a.HeldBytes() > 1<<17 {
				t.Fatalf("%d bytes are held, want at most %d", a.HeldBytes(), 1<<17)
			}
			b = b[len(p):]
		}
		a.Tick(1<<62, func([]byte) {})
		if a.HeldBytes() != 0 || len(a.reassemblies) != 0 {
			t.Fatalf("%d bytes are held in the end, want 0", a.HeldBytes())
		}
	})
}

func TestOnlyCopiedOptionsAreInLaterFragments(t *testing.T) {
	f := fields(1)
	// Router Alert has the copied flag, Timestamp has not.
	f.Options = []byte{0x94, 4, 0, 0, 0x44, 4, 5, 0}
	n := 0
	Fragment(f, make([]byte, 300), 100, func(h, payload []byte) {
		want := 24
		if n == 0 {
			want = 28
		}
		if p := parse(t, append(bytes.Clone(h), payload...)); p.HeaderLen() != want {
			t.Errorf("fragment %d has a header of %d bytes, want %d", n, len(h), want)
		}
		n++
	})
}

func TestTheLongestPrefixRoutes(t *testing.T) {
	r, err := NewRoutes(Route{To: netip.MustParsePrefix("0.0.0.0/0"), Via: bob}, Route{To: netip.MustParsePrefix("10.0.0.0/8")}, Route{To: netip.MustParsePrefix("10.9.0.0/16"), Via: alice})
	if err != nil {
		t.Fatal(err)
	}
	for dst, want := range map[string]string{"10.1.2.3": "10.1.2.3", "10.9.1.1": "10.0.0.1", "192.0.2.1": "10.0.0.2"} {
		if got, _, ok := r.Next(netip.MustParseAddr(dst)); !ok || got.String() != want {
			t.Errorf("the next hop to %s is %v, want %s", dst, got, want)
		}
	}
	if _, _, ok := (Routes{}).Next(bob); ok {
		t.Error("an empty table has a route, want none")
	}
	if _, err := NewRoutes(Route{To: netip.MustParsePrefix("::/0"), Via: alice}); err == nil {
		t.Error("a route to IPv6 by a router of IPv4 was accepted, want an error")
	}
}

func TestPacketTooBigLowersThePathMTU(t *testing.T) {
	var p Paths
	for _, c := range []struct {
		size, says, want int
		fragmentable     bool
	}{{1500, 1400, 1400, false}, {1400, 0, 1006, false}, {1006, 2000, 1006, false}, {1006, 0, 552, false}, {1500, 68, 552, true}, {552, 0, 552, true}} {
		got := p.TooBig(bob, c.size, c.says, 1)
		if now, fragmentable := p.MTU(bob, 1500, 2); got != c.want || now != c.want || fragmentable != c.fragmentable {
			t.Errorf("Packet Too Big for %d bytes with MTU %d: path MTU %d, want %d; fragmentable: %t", c.size, c.says, got, c.want, fragmentable)
		}
	}
	if got, fragmentable := p.MTU(bob, 1500, 1+Time(PathMTUTimeout)); got != 1500 || fragmentable {
		t.Errorf("after ten minutes the path MTU is %d (fragmentable: %t), want 1500", got, fragmentable)
	}
}
