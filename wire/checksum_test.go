package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// referenceSum is the sum as RFC 1071 defines it: word by word.
func referenceSum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
		sum = sum&0xffff + sum>>16
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

func TestSumIsThatOfRFC1071(t *testing.T) {
	example := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7} // RFC 1071, section 3
	if got := (Sum{}).Add(example).Partial(); got != 0xddf2 {
		t.Errorf("the sum is %#04x, want 0xddf2", got)
	}
	random := rand.NewChaCha8([32]byte{1})
	for length := range 300 {
		for _, fill := range []byte{0, 1, 0xff} {
			b := bytes.Repeat([]byte{fill}, length)
			if fill == 1 {
				random.Read(b)
			}
			if got := (Sum{}).Add(b).Partial(); got != referenceSum(b) {
				t.Fatalf("%d bytes: the sum is %#04x, want %#04x", length, got, referenceSum(b))
			}
		}
	}
}

// A sum of parts of any length is the sum of the whole.
func TestSumOfPartsIsTheSumOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum Sum
		var whole []byte
		for _, part := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "parts") {
			sum, whole = sum.Add(part), append(whole, part...)
		}
		if got := sum.Partial(); got != referenceSum(whole) {
			t.Fatalf("the sum is %#04x, want %#04x", got, referenceSum(whole))
		}
	})
}

func TestSumHasThePseudoHeader(t *testing.T) {
	for _, c := range []struct{ src, dst, header string }{
		{"10.0.0.1", "192.168.1.255", "\x0a\x00\x00\x01\xc0\xa8\x01\xff\x00\x06\x12\x34"},
		{"2001:db8::1", "fe80::2", "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xfe\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x12\x34\x00\x00\x00\x06"},
	} {
		if got := (Sum{}).Pseudo(netip.MustParseAddr(c.src), netip.MustParseAddr(c.dst), TCPProtocol, 0x1234).Partial(); got != referenceSum([]byte(c.header)) {
			t.Errorf("%s to %s: %#04x, want %#04x", c.src, c.dst, got, referenceSum([]byte(c.header)))
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("a packet"), uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		if got := (Sum{}).Add(b).Partial(); got != referenceSum(b) {
			t.Errorf("the sum is %#04x, want %#04x", got, referenceSum(b))
		}
		if cut := min(int(at), len(b)); (Sum{}).Add(b[:cut]).Add(b[cut:]).Partial() != referenceSum(b) {
			t.Errorf("the sum of two parts, split at %d: got %#04x, want the sum of the whole, %#04x", cut, (Sum{}).Add(b[:cut]).Add(b[cut:]).Partial(), referenceSum(b))
		}
	})
}

// BenchmarkSum compares adding eight bytes at a time with adding words.
func BenchmarkSum(b *testing.B) {
	for _, size := range []int{20, 1500, 65536} {
		packet := make([]byte, size)
		rand.NewChaCha8([32]byte{}).Read(packet)
		for name, f := range map[string]func([]byte) uint16{"words": referenceSum, "fast": sum} {
			b.Run(name+"/"+strconv.Itoa(size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					f(packet)
				}
			})
		}
	}
}
