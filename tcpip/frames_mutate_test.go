package tcpip

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/tcpip/link"
	"weir/wire"
)

// FuzzConversations plays the recorded conversation with mutated header fields, and requires the
// same of the stack as FuzzFrames. The input is only the seed of all mutations. They reach deeper
// than those of FuzzFrames, which know nothing of packets.
//
// Lengths and checksums stay right: most records have repairs (type op), which play makes after the
// mutation. So it is the mutated field that the stack must cope with.
func FuzzConversations(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	whole := [][]record{conversation(f, benchFamilies[0]), conversation(f, benchFamilies[1])}
	f.Fuzz(func(t *testing.T, seed uint64) {
		all := mutated(rand.New(rand.NewPCG(seed, 7)), whole[seed/4%2])
		switch seed % 4 {
		case 0:
			play(t, all)
		case 1:
			// on a link that takes superframes and needs no checksums
			playOn(t, link.PairConfig{Superframe: 65535, Checksum: true}, all)
		case 2: // with too few buffers
			play(t, all, func(c *Config) { c.Memory = 16 << 10 })
		case 3:
			both(t, all)
		}
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
}

// both plays to a stack with RunChain (one goroutine takes a frame through all layers) and to one
// with RunNetwork (a goroutine for each layer), and requires the same output. It sends the frames
// one by one: for frames in one batch (the flag together) the batches between layers, and so the
// acknowledgments, may differ.
func both(t *testing.T, all []record) {
	t.Helper()
	for i := range all {
		all[i].op &^= together
	}
	chain := play(t, all)
	network := play(t, all, func(c *Config) { c.Run = RunNetwork })
	for i := range max(len(chain), len(network)) {
		if i >= len(chain) || i >= len(network) || chain[i] != network[i] {
			t.Errorf("the chain sent %d frames, the network %d, want the same. They differ from frame %d on:\n%s", len(chain), len(network), i+1,
				strings.Join(append(append(chain[min(i, len(chain)):min(i+3, len(chain))], "---"), network[min(i, len(network)):min(i+3, len(network))]...), "\n"))
			return
		}
	}
}

// mutated returns a copy of a conversation, perhaps cut short, with one to eight mutations: a
// record is left out, repeated elsewhere or given another op, or a byte or a field of its frame is
// changed.
func mutated(r *rand.Rand, whole []record) []record {
	var all []record
	for _, x := range whole {
		all = append(all, record{x.op, bytes.Clone(x.frame)})
	}
	if r.IntN(2) == 0 {
		all = all[:1+r.IntN(len(all))]
	}
	for range 1 + r.IntN(8) {
		i := r.IntN(len(all))
		switch r.IntN(9) {
		case 0:
			if len(all) > 1 {
				all = append(all[:i], all[i+1:]...)
			}
		case 1, 2:
			j := r.IntN(len(all))
			all = append(all, record{all[j].op, bytes.Clone(all[j].frame)})
			k := len(all) - 1
			all[i], all[k] = all[k], all[i]
		case 3:
			all[i].op ^= 1 << r.IntN(8) // one repair, or how the frame is delivered
		case 4:
			f := all[i].frame // anything in the headers
			f[r.IntN(min(len(f), 90))] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.Uint32())}[r.IntN(6)]
		default:
			mutateField(r, &all[i])
		}
	}
	return all[:min(len(all), recordsMost)]
}

// mutateField changes a field of the packet in a frame.
func mutateField(r *rand.Rand, x *record) {
	e, fault := wire.ParseEthernet(x.frame)
	switch {
	case fault != wire.OK:
	case e.Type() == wire.TypeIPv4 && len(e.Payload()) >= wire.IPv4Header:
		mutateIPv4(r, x, e.Payload())
	case e.Type() == wire.TypeIPv6 && len(e.Payload()) >= wire.IPv6Header:
		mutateIPv6(r, x, e.Payload())
	}
}

// mtus are next-hop MTUs of ICMP errors.
var mtus = []uint16{0, 1, 67, 68, 296, 576, 1279, 1280, 1499, 1500, 65535}

func mutateIPv4(r *rand.Rand, x *record, p []byte) {
	if r.IntN(8) == 0 { // make it look like a fragment: other flags and offset
		binary.BigEndian.PutUint16(p[6:], uint16(r.IntN(4))<<13|uint16(r.IntN(3)*r.IntN(200)))
		return
	}
	if len(p) < wire.IPv4Header+wire.TCPHeader {
		return
	}
	switch b := p[wire.IPv4Header:]; wire.Protocol(p[9]) {
	case wire.TCPProtocol:
		mutateSegment(r, x, b)
	case wire.ICMPv4Protocol: // other type, code and next-hop MTU
		b[0] = []byte{0, 3, 3, 3, 4, 5, 8, 11, 12, 13}[r.IntN(10)]
		b[1] = byte(r.IntN(16))
		binary.BigEndian.PutUint16(b[6:], mtus[r.IntN(len(mtus))])
	}
}

// offsets are the distances that sequence numbers are moved by.
var offsets = []int32{-1, 1, 2, -2, 100, -100, 1448, -1448, 10_000, -10_000, 65_535, -65_535, 1 << 20, 1 << 30, -1 << 31, 1<<31 - 1}

// optionBytes are TCP options, valid and invalid ones, padded to a multiple of four bytes.
var optionBytes = []string{
	// SACK with one block
	"\x05\x0a\x00\x00\x00\x01\x00\x00\x05\xa9\x01\x01",
	// SACK with a block inside another
	"\x05\x12\x00\x00\x00\x01\x00\x00\x00\x09\x00\x00\x00\x05\x00\x00\x00\x07\x01\x01",
	"\x02\x04\x00\x01", // MSS of 1
	"\x02\x04\xff\xff", // MSS of 65,535
	"\x03\x03\x0e\x00", // window scale of 14
	"\x04\x02\x01\x01", // SACK permitted
	"\x08\x0a\xff\xff\xff\xff\x00\x00\x00\x00\x01\x01", // timestamps with the largest TSval
	"\x08\x0a\x00\x00\x00\x00\xff\xff\xff\xff\x01\x01", // timestamps with the largest TSecr
	"\x08\x00\x00\x00", // timestamps with the invalid length 0
	"\x00\x00\x00\x00", // end of options
	"\x1c\x04\x00\x01", // user timeout (RFC 5482)
	"\x22\x02\x01\x01", // Fast Open without a cookie (RFC 7413)
}

// mutateSegment changes a field of the TCP segment b, which is the payload of the packet in x.
func mutateSegment(r *rand.Rand, x *record, b []byte) {
	switch r.IntN(7) {
	case 0: // another sequence number
		add32(b[4:], uint32(offsets[r.IntN(len(offsets))]))
	case 1: // another acknowledgment number
		add32(b[8:], uint32(offsets[r.IntN(len(offsets))]))
	case 2: // other flags, few of them
		few := r.Uint32()
		b[13] = byte(few & (few >> 8))
	case 3: // one flag more or less
		b[13] ^= 1 << r.IntN(6)
	case 4: // another window
		binary.BigEndian.PutUint16(b[14:], []uint16{0, 0, 1, 100, 1448, 65535}[r.IntN(6)])
	case 5: // other options
		o := optionBytes[r.IntN(len(optionBytes))]
		header := min(int(b[12]>>4)*4, len(b))
		at := len(x.frame) - len(b)
		x.frame = bytes.Join([][]byte{x.frame[:at], b[:wire.TCPHeader], []byte(o), b[header:]}, nil)
		x.frame[at+12] = byte((wire.TCPHeader+len(o))/4) << 4
	case 6: // a payload of another length, without options
		n := len(x.frame) - len(b) + wire.TCPHeader
		x.frame = append(x.frame[:n:n], make([]byte, []int{0, 1, 100, 1400}[r.IntN(4)])...)
		x.frame[n-8] = 5 << 4
	}
}
