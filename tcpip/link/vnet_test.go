package link

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"weir/wire"
)

// vnetBytes returns a header given in hexadecimal digits, with a frame of zeros behind it.
func vnetBytes(t testing.TB, header string, n int) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(header, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return append(b, make([]byte, n)...)
}

func TestVnetHeadersAreParsedOrRejected(t *testing.T) {
	for name, c := range map[string]struct {
		header string // flags, GSO type, length of headers, segment size, csum_start, csum_offset
		frame  int
		want   Offload
		ok     bool
	}{
		"nothing to do":                    {"00 00 0000 0000 0000 0000", 60, Offload{}, true},
		"the smallest frame":               {"00 00 0000 0000 0000 0000", 14, Offload{}, true},
		"found right":                      {"02 00 0000 0000 0000 0000", 60, Offload{ChecksumOK: true}, true},
		"to be completed":                  {"01 00 0000 0000 2200 1000", 60, Offload{ChecksumPartial: true, ChecksumStart: 34, ChecksumOffset: 16, ChecksumOK: true}, true},
		"a superframe":                     {"01 01 4200 b405 2200 1000", 9000, Offload{SegmentSize: 1460, ChecksumPartial: true, ChecksumStart: 34, ChecksumOffset: 16, ChecksumOK: true}, true},
		"a superframe with CWR":            {"01 81 4200 b405 2200 1000", 9000, Offload{SegmentSize: 1460, CWR: true, ChecksumPartial: true, ChecksumStart: 34, ChecksumOffset: 16, ChecksumOK: true}, true},
		"start and offset at the very end": {"01 00 0000 0000 2200 1800", 60, Offload{ChecksumPartial: true, ChecksumStart: 34, ChecksumOffset: 24, ChecksumOK: true}, true},
		"bits that mean other things":      {"04 00 ffff ffff ffff ffff", 60, Offload{}, true},

		"a header alone":                {"00 00 0000 0000 0000 0000", 0, Offload{}, false},
		"less than Ethernet's":          {"00 00 0000 0000 0000 0000", 13, Offload{}, false},
		"half a header":                 {"00 00 0000", 0, Offload{}, false},
		"start in Ethernet's header":    {"01 00 0000 0000 0d00 1000", 60, Offload{}, false},
		"start behind the frame":        {"01 00 0000 0000 3d00 0000", 60, Offload{}, false},
		"offset behind the frame":       {"01 00 0000 0000 2200 1900", 60, Offload{}, false},
		"both as large as can be":       {"01 00 0000 0000 ffff ffff", 60, Offload{}, false},
		"segments of nothing":           {"01 01 4200 0000 2200 1000", 9000, Offload{}, false},
		"segments as long as the rest":  {"01 01 4200 2e00 2200 1000", 60, Offload{}, false},
		"segments longer than the rest": {"01 01 4200 ffff 2200 1000", 9000, Offload{}, false},
		"segments of UDP":               {"01 03 2a00 b405 2200 0600", 9000, Offload{}, false},
		"segments of TCP over IPv6":     {"01 04 4a00 b405 3600 1000", 9000, Offload{SegmentSize: 1460, ChecksumPartial: true, ChecksumStart: 54, ChecksumOffset: 16, ChecksumOK: true}, true},
		"segments of UDP, the new way":  {"01 05 2a00 b405 2200 0600", 9000, Offload{}, false},
		"segments of who knows what":    {"01 7f 4200 b405 2200 1000", 9000, Offload{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			if ok := parseVnet(vnetBytes(t, c.header, c.frame), &f, Ethernet); ok != c.ok || ok && (f.Offload != c.want || len(f.Bytes) != c.frame) {
				t.Errorf("%v: %+v with %d bytes, want %v: %+v with %d", ok, f.Offload, len(f.Bytes), c.ok, c.want, c.frame)
			}
		})
	}
}

// FuzzVnet checks that offsets parsed from any header lie within the frame, and that a header
// survives writing and parsing.
func FuzzVnet(f *testing.F) {
	for _, h := range []string{"00 00 0000 0000 0000 0000", "01 00 0000 0000 2200 1000", "01 81 4200 b405 2200 1000", "02 00 0000 0000 0000 0000", "01 03 2a00 b405 2200 0600"} {
		f.Add(vnetBytes(f, h, 2000))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second Frame
		if !parseVnet(b, &first, Ethernet) {
			return
		}
		n := len(first.Bytes)
		if n < wire.EthernetHeader || first.SegmentSize >= n || first.ChecksumPartial && (first.ChecksumStart < wire.EthernetHeader || first.ChecksumStart+first.ChecksumOffset+2 > n) {
			t.Fatalf("got the offload %+v, want it within its frame of %d bytes", first.Offload, n)
		}
		var header [vnetHeader]byte
		putVnet(&header, &Parts{Head: first.Bytes, Offload: first.Offload}, Ethernet)
		if !parseVnet(append(header[:], first.Bytes...), &second, Ethernet) {
			t.Fatalf("%+v was written as %x, which parseVnet rejects, want it accepted", first.Offload, header)
		}
		// a sent frame has no flag for a verified checksum
		first.ChecksumOK = first.ChecksumPartial
		if first.Offload != second.Offload || !bytes.Equal(first.Bytes, second.Bytes) {
			t.Errorf("%+v was written, %+v read; want the same, and the same bytes", first.Offload, second.Offload)
		}
	})
}
