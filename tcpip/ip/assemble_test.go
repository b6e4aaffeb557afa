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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	alice = netip.MustParseAddr("10.0.0.1")
	bob   = netip.MustParseAddr("10.0.0.2")
)

func fields(id uint16) wire.IPv4Fields {
	return wire.IPv4Fields{TOS: 4, ID: id, TTL: 64, Protocol: wire.UDPProtocol, Src: alice, Dst: bob}
}

// fragments cuts a payload of so many bytes.
func fragments(id uint16, length, mtu int) (all [][]byte, payload []byte) {
	payload = make([]byte, length)
	rand.NewChaCha8([32]byte{byte(id)}).Read(payload)
	Fragment(fields(id), payload, mtu, func(h, p []byte) { all = append(all, append(bytes.Clone(h), p...)) })
	return all, payload
}

func parse(t interface{ Fatal(...any) }, b []byte) wire.IPv4 {
	p, fault := wire.ParseIPv4(b)
	if fault != wire.OK || !p.ChecksumOK() {
		t.Fatal(fault)
	}
	return p
}

// Whatever the order, and whatever comes twice, the packet is put together, once.
func TestFragmentsArePutTogetherInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, payload := fragments(7, rapid.IntRange(1, 20_000).Draw(t, "length"), rapid.IntRange(68, 1500).Draw(t, "mtu"))
		order := rapid.Permutation(all).Draw(t, "order")
		a := NewAssembler(Limits{Pieces: 1000})
		whole := 0
		for i, b := range order {
			p := parse(t, b)
			if !p.Fragment() {
				return
			}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				got, o := a.Add(p, 1)
				if o == Whole {
					whole++
					if i != len(order)-1 || !bytes.Equal(got.Payload(), payload) || !got.ChecksumOK() || got.Fragment() || got.TOS() != 4 {
						t.Fatalf("after %d of %d: %d bytes", i+1, len(order), len(got.Payload()))
					}
					break
				} else if o != Held && o != Twice {
					t.Fatalf("fragment %d of %d: %v", i, len(order), o)
				}
			}
		}
		if whole != 1 || a.Held() != 0 {
			t.Fatalf("whole %d times, %d bytes held", whole, a.Held())
		}
	})
}

func TestFragmentsThatContradictEndTheirPacket(t *testing.T) {
	all, _ := fragments(1, 4000, 1500)
	f := fields(1)
	f.FragmentOffset, f.MoreFragments, f.Payload = 1472, true, 16
	overlapping := append(wire.AppendIPv4(nil, &f), make([]byte, 16)...)
	a := NewAssembler(Limits{})
	for _, c := range []struct {
		b    []byte
		want Outcome
	}{{all[0], Held}, {overlapping, Overlaps}, {all[1], Overlaps}, {all[2], Overlaps}} {
		if _, o := a.Add(parse(t, c.b), 1); o != c.want {
			t.Errorf("outcome %v, want %v", o, c.want)
		}
	}
	if a.Held() != assemblyCost {
		t.Errorf("%d bytes are held", a.Held())
	}
	a.Tick(1<<62, func(wire.IPv4) { t.Error("a packet that was given up is told to be late") })
	if a.Held() != 0 {
		t.Errorf("%d bytes are held in the end", a.Held())
	}
}

// Whatever fragments of a packet come, cut here or there, twice or never: nobody gets another
// packet than was sent.
func TestNobodyGetsAnotherPacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(1, 6000).Draw(t, "length")
		all, payload := fragments(7, length, rapid.IntRange(68, 1500).Draw(t, "mtu"))
		others, _ := fragments(7, length, rapid.IntRange(68, 1500).Draw(t, "other mtu"))
		a := NewAssembler(Limits{})
		for range rapid.IntRange(1, 200).Draw(t, "fragments") {
			p := parse(t, rapid.SampledFrom(append(all, others...)).Draw(t, "fragment"))
			if !p.Fragment() {
				return
			}
			if got, o := a.Add(p, 1); o == Whole && !bytes.Equal(got.Payload(), payload) {
				t.Fatalf("%d bytes of %d", len(got.Payload()), length)
			}
		}
	})
}

// RFC 3168, section 5.3.
func TestMarksOfCongestionAreKept(t *testing.T) {
	for _, c := range []struct {
		marks [3]uint8
		tos   uint8
		want  Outcome
	}{{[3]uint8{2, 2, 2}, 2, Whole}, {[3]uint8{2, 3, 2}, 3, Whole}, {[3]uint8{1, 1, 3}, 3, Whole}, {[3]uint8{0, 0, 0}, 0, Whole}, {[3]uint8{0, 3, 0}, 0, Wrong}} {
		a := NewAssembler(Limits{})
		all, _ := fragments(1, 4000, 1500)
		var o Outcome
		var got wire.IPv4
		for i, b := range all {
			b[1] = c.marks[i]
			got, o = a.Add(wire.IPv4(b), 1)
		}
		if o != c.want || o == Whole && got.TOS() != c.tos {
			t.Errorf("%v: outcome %v", c.marks, o)
		}
	}
}

func TestFragmentsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		offset, length int
		more           bool
		want           Outcome
	}{
		"a middle of 7 bytes":         {0, 7, true, Wrong},
		"a middle of nothing":         {8, 0, true, Wrong},
		"beyond the largest packet":   {65528, 100, false, TooLarge},
		"at the largest packet's end": {65496, 19, false, Held},
	} {
		f := fields(1)
		f.FragmentOffset, f.MoreFragments, f.Payload = c.offset, c.more, c.length
		if _, o := NewAssembler(Limits{}).Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, c.length)...)), 1); o != c.want {
			t.Errorf("%s: %v, want %v", name, o, c.want)
		}
	}
}

// A packet that only the options of its first fragment make too large is given up once that is
// known, in whatever order its fragments come.
func TestOptionsMakeAPacketTooLarge(t *testing.T) {
	for options, want := range map[int]Outcome{0: Whole, 4: TooLarge, 40: TooLarge} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			a := NewAssembler(Limits{})
			one, two := fields(1), fields(1)
			one.Options, one.MoreFragments, one.Payload = bytes.Repeat([]byte{1}, options), true, 1480
			two.FragmentOffset, two.Payload = 1480, wire.IPv4Largest-wire.IPv4Header-1480
			var all [2][]byte
			for i, f := range []wire.IPv4Fields{one, two} {
				all[i] = append(wire.AppendIPv4(nil, &f), make([]byte, f.Payload)...)
			}
			a.Add(parse(t, all[order[0]]), 1)
			whole, o := a.Add(parse(t, all[order[1]]), 1)
			if o != want || o == Whole && (len(whole) != wire.IPv4Largest || len(parse(t, whole)) != wire.IPv4Largest) {
				t.Errorf("with %d bytes of options, %v: %v, want %v", options, order, o, want)
			}
		}
	}
}

// Memory, time and the number of packets have their bounds.
func TestBounds(t *testing.T) {
	a := NewAssembler(Limits{Memory: 10_000, Each: 8, Time: time.Second})
	for id := range uint16(20) {
		all, _ := fragments(id, 4000, 1500)
		a.Add(parse(t, all[0]), Time(id+1))
		if a.Held() > 10_000 || len(a.all) > 8 {
			t.Fatalf("%d bytes, %d packets are held", a.Held(), len(a.all))
		}
	}
	all, _ := fragments(100, 60_000, 68)
	b := NewAssembler(Limits{Pieces: 4})
	for i := 0; i < 10; i += 2 {
		b.Add(parse(t, all[i]), 1)
	}
	if b.Held() != assemblyCost {
		t.Errorf("a packet of too many pieces is held")
	}
	c := NewAssembler(Limits{Memory: 100_000})
	for i := range 5000 { // the last eight bytes of large packets, from many
		f := fields(uint16(i))
		f.Src, f.FragmentOffset, f.Payload = netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 65504, 8
		if _, o := c.Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 8)...)), 1); o != Held {
			t.Fatalf("fragment %d: %v", i, o)
		}
	}
	if c.Held() > 100_000 || len(c.all) < 100 {
		t.Errorf("%d bytes of %d packets are held", c.Held(), len(c.all))
	}
	late := 0
	if next := a.Tick(Time(time.Second)+17, func(first wire.IPv4) { late++ }); next == 0 || late == 0 {
		t.Errorf("%d were late, the next at %v", late, next)
	}
	a.Tick(Time(time.Minute), func(wire.IPv4) {})
	if a.Held() != 0 || len(a.all) != 0 || len(a.of) != 0 {
		t.Errorf("after a minute %d bytes, %d packets are held", a.Held(), len(a.all))
	}
}

// eightBytes is a fragment of eight bytes of a packet that never comes whole.
func eightBytes(t *testing.T, src netip.Addr, id uint16) wire.IPv4 {
	f := fields(id)
	f.Src, f.MoreFragments, f.Payload = src, true, 8
	return parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 8)...))
}

// Whoever floods with fragments, in whose name ever, does not keep a host from putting packets
// together: of each source the oldest go (as with Linux).
func TestAFloodOfFragmentsDeniesNobodyReassembly(t *testing.T) {
	mallory := netip.MustParseAddr("10.0.0.66")
	for name, flooder := range map[string]netip.Addr{"in the sender's name": alice, "in another's": mallory} {
		a := NewAssembler(Limits{})
		now := Time(1)
		for id := range uint16(10_000) {
			a.Add(eightBytes(t, flooder, 1000+id), now)
		}
		all, payload := fragments(7, 4000, 1500)
		for i, b := range all {
			got, o := a.Add(parse(t, b), now)
			if last := i == len(all)-1; last && (o != Whole || !bytes.Equal(got.Payload(), payload)) || !last && o != Held {
				t.Errorf("a flood %s: fragment %d of %d of a packet is %v", name, i+1, len(all), o)
			}
			for id := range uint16(20) { // it goes on between the fragments
				a.Add(eightBytes(t, flooder, 20_000+uint16(i)*20+id), now)
			}
		}
	}
}

// One source, which sends large packets and never their ends, does not push out what others have
// begun.
func TestOneSourceDoesNotPushOutOthersFragments(t *testing.T) {
	a := NewAssembler(Limits{Each: 1 << 20})
	all, _ := fragments(7, 4000, 1500)
	a.Add(parse(t, all[0]), 1)
	mallory := netip.MustParseAddr("10.0.0.66")
	for id := range uint16(5000) {
		f := fields(id)
		f.Src, f.MoreFragments, f.Payload = mallory, true, 1480
		a.Add(parse(t, append(wire.AppendIPv4(nil, &f), make([]byte, 1480)...)), 2)
	}
	if held := a.of[mallory].held; held > a.Most()/4 {
		t.Errorf("one source holds %d bytes of %d, want a quarter at most", held, a.Most())
	}
	for i, b := range all[1:] {
		if _, o := a.Add(parse(t, b), 3); i == len(all)-2 && o != Whole {
			t.Errorf("the packet of another source is %v, want whole", o)
		}
	}
}

func FuzzAssembler(f *testing.F) {
	all, _ := fragments(3, 3000, 1000)
	f.Add(bytes.Join(all, nil), uint8(100))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		a := NewAssembler(Limits{Memory: 1 << 17})
		for now := Time(1); len(b) > wire.IPv4Header; now++ {
			p, fault := wire.ParseIPv4(b)
			if fault != wire.OK {
				b = b[1:]
				continue
			}
			if got, o := a.Add(p, now*Time(step)*1e6); o == Whole && (len(got) > wire.IPv4Largest || !got.ChecksumOK()) {
				t.Fatalf("a packet of %d bytes", len(got))
			}
			if a.Held() > 1<<17 {
				t.Fatalf("%d bytes are held", a.Held())
			}
			b = b[len(p):]
		}
		a.Tick(1<<62, func(wire.IPv4) {})
		if a.Held() != 0 || len(a.all) != 0 {
			t.Fatalf("%d bytes are held", a.Held())
		}
	})
}

func TestOptionsOfFragments(t *testing.T) {
	f := fields(1)
	f.Options = []byte{0x94, 4, 0, 0, 0x44, 4, 5, 0} // router alert is copied, the timestamp is not
	n := 0
	Fragment(f, make([]byte, 300), 100, func(h, payload []byte) {
		want := 24
		if n == 0 {
			want = 28
		}
		if p := parse(t, append(bytes.Clone(h), payload...)); p.HeaderLen() != want {
			t.Errorf("fragment %d has a header of %d bytes", n, len(h))
		}
		n++
	})
}

func TestRoutes(t *testing.T) {
	r, err := NewRoutes(Route{To: netip.MustParsePrefix("0.0.0.0/0"), Via: bob}, Route{To: netip.MustParsePrefix("10.0.0.0/8")}, Route{To: netip.MustParsePrefix("10.9.0.0/16"), Via: alice})
	if err != nil {
		t.Fatal(err)
	}
	for dst, want := range map[string]string{"10.1.2.3": "10.1.2.3", "10.9.1.1": "10.0.0.1", "192.0.2.1": "10.0.0.2"} {
		if got, _, ok := r.Next(netip.MustParseAddr(dst)); !ok || got.String() != want {
			t.Errorf("%s goes to %v, want %s", dst, got, want)
		}
	}
	if _, _, ok := (Routes{}).Next(bob); ok {
		t.Error("without routes there is one")
	}
	if _, err := NewRoutes(Route{To: netip.MustParsePrefix("::/0")}); err == nil {
		t.Error("a route of IPv6 is taken")
	}
}

func TestPaths(t *testing.T) {
	var p Paths
	for _, c := range []struct {
		size, says, want int
		cut              bool
	}{{1500, 1400, 1400, false}, {1400, 0, 1006, false}, {1006, 2000, 1006, false}, {1006, 0, 552, false}, {1500, 68, 552, true}, {552, 0, 552, true}} {
		got := p.TooBig(bob, c.size, c.says, 1)
		if now, cut := p.MTU(bob, 1500, 2); got != c.want || now != c.want || cut != c.cut {
			t.Errorf("%d bytes are too big, %d are said not to be: %d, want %d; cut: %t", c.size, c.says, got, c.want, cut)
		}
	}
	if got, cut := p.MTU(bob, 1500, 1+Time(PathTime)); got != 1500 || cut {
		t.Errorf("after ten minutes it is %d, cut: %t", got, cut)
	}
}
