package frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// unmasked returns a frame as a server sends it.
func unmasked(first byte, payload []byte) []byte {
	out := []byte{first}
	switch n := len(payload); {
	case n < 126:
		out = append(out, byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, 126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 127), uint64(n))
	}
	return append(out, payload...)
}

// parse returns the messages and control frames in text, which arrives in pieces of size bytes.
func parse(text []byte, size int) (got []string, err error) {
	var p Parser
	var message []byte
	for len(text) > 0 {
		in := text[:min(size, len(text))]
		text = text[len(in):]
		for len(in) > 0 {
			n, piece, ok, err := p.Feed(in)
			if err != nil {
				return got, err
			}
			if in = in[n:]; !ok {
				continue
			}
			if piece.Op.isControl() {
				got = append(got, fmt.Sprintf("%d %q", piece.Op, piece.Payload))
				continue
			}
			if message = append(message, piece.Payload...); piece.Last {
				got = append(got, fmt.Sprintf("%d %q", piece.Op, message))
				message = nil
			}
		}
	}
	return got, nil
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestFramesAreReadOrRejected(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 70_000)
	for _, test := range []struct {
		name string
		text []byte
		want []string
		err  error
	}{
		{"text", unmasked(0x81, []byte("hi")), []string{`1 "hi"`}, nil},
		{"empty binary", unmasked(0x82, nil), []string{`2 ""`}, nil},
		{"126 bytes", unmasked(0x82, long[:126]), []string{fmt.Sprintf("2 %q", long[:126])}, nil},
		{"70,000 bytes", unmasked(0x82, long), []string{fmt.Sprintf("2 %q", long)}, nil},
		{"fragments with a ping between", join(unmasked(0x01, []byte("a")), unmasked(0x89, []byte("p")), unmasked(0x00, nil), unmasked(0x80, []byte("b"))), []string{`9 "p"`, `1 "ab"`}, nil},
		{"empty last fragment", join(unmasked(0x01, []byte("a")), unmasked(0x80, nil)), []string{`1 "a"`}, nil},
		{"close with a status", unmasked(0x88, []byte{3, 232, 'x'}), []string{`8 "\x03\xe8x"`}, nil},
		{"close without one", unmasked(0x88, nil), []string{`8 ""`}, nil},
		{"close with one byte", unmasked(0x88, []byte{3}), nil, ErrClose},
		{"close with 1006", unmasked(0x88, []byte{3, 238}), nil, ErrClose},
		{"reserved bit", unmasked(0xc1, nil), nil, ErrReserved},
		{"opcode 3", unmasked(0x83, nil), nil, ErrOpcode},
		{"opcode 11", unmasked(0x8b, nil), nil, ErrOpcode},
		{"masked", []byte{0x81, 0x80, 1, 2, 3, 4}, nil, ErrMasked},
		{"length not shortest", []byte{0x81, 126, 0, 125}, nil, ErrLength},
		{"long length not shortest", []byte{0x81, 127, 0, 0, 0, 0, 0, 0, 255, 255}, nil, ErrLength},
		{"length of 2^63", []byte{0x81, 127, 128, 0, 0, 0, 0, 0, 0, 0}, nil, ErrLength},
		{"fragmented ping", unmasked(0x09, nil), nil, ErrControl},
		{"ping of 126 bytes", unmasked(0x89, long[:126]), nil, ErrControl},
		{"continuation of nothing", unmasked(0x80, nil), nil, ErrContinuation},
		{"message within another", join(unmasked(0x01, nil), unmasked(0x81, nil)), nil, ErrContinuation},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(test.text)} {
				if got, err := parse(test.text, size); err != test.err || fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("in pieces of %d: got %.80q, error %v; want %.80q, %v", size, got, err, test.want, test.err)
				}
			}
		})
	}
}

// unmask returns a client's frame as the server would send it.
func unmask(t *testing.T, text []byte) []byte {
	t.Helper()
	size := 2
	switch text[1] {
	case maskBit | length16:
		size = 4
	case maskBit | length64:
		size = maxHeader
	}
	if text[1]&maskBit == 0 {
		t.Fatalf("got %x, want a masked frame", text)
	}
	out, key := bytes.Clone(text[:size]), text[size:size+4]
	out[1] &^= maskBit
	for i, c := range text[size+4:] {
		out = append(out, c^key[i%4])
	}
	return out
}

// FuzzFrames checks that what is parsed does not depend on how the input is split, and that a
// written message is read as the same.
func FuzzFrames(f *testing.F) {
	f.Add(join(unmasked(0x01, []byte("a")), unmasked(0x89, []byte("p")), unmasked(0x80, []byte("b"))), 2, uint32(7))
	f.Add(unmasked(0x88, []byte{3, 232}), 1, uint32(0))
	f.Add(unmasked(0x82, []byte(strings.Repeat("x", 300))), 100, uint32(1<<31))
	f.Fuzz(func(t *testing.T, text []byte, size int, key uint32) {
		whole, err := parse(text, len(text)+1)
		if cut, err2 := parse(text, 1+size&63); err != err2 || fmt.Sprint(whole) != fmt.Sprint(cut) {
			t.Errorf("got %q, error %v, in pieces; want %q, %v, as from the whole", cut, err2, whole, err)
		}
		written := Append(nil, Binary, text, key)
		if got, err := parse(unmask(t, written), 1+size&63); err != nil || len(got) != 1 || got[0] != fmt.Sprintf("2 %q", text) {
			t.Errorf("%x is read as %q, error %v; want the message %q", written, got, err, text)
		}
	})
}
