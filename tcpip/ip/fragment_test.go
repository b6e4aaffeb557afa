package ip

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"weir/wire"
)

// A router splits fragments again, for a smaller MTU: they are still parts of one packet.
func TestFragmentsOfFragmentsYieldTheirPacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, payload := fragments(7, rapid.IntRange(1, 20_000).Draw(t, "length"), rapid.IntRange(68, 1500).Draw(t, "mtu"))
		smaller, a := rapid.IntRange(68, 1500).Draw(t, "smaller"), NewReassembler(Limits{RangesPerPacket: 1000})
		var got wire.IPv4
		for _, b := range all {
			p := parse(t, b)
			f := fields(7)
			f.FragmentOffset, f.MoreFragments = p.FragmentOffset(), p.MoreFragments()
			Fragment(f, p.Payload(), smaller, func(h, part []byte) {
				piece := parse(t, append(bytes.Clone(h), part...))
				if !piece.IsFragment() {
					got = piece
				} else if whole, o := a.Add(piece, 1); o == Complete {
					got = whole
				}
			})
		}
		if got == nil || !bytes.Equal(got.Payload(), payload) {
			t.Fatalf("got %d bytes, want the packet of %d", len(got), len(payload))
		}
	})
}
