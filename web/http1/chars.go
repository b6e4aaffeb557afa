package http1

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes, by RFC 9110 (tchar, section 5.6.2) and RFC 3986 (host, section 3.2.2).
const (
	tokenByte  = 1 << iota // tchar: methods and field names
	targetByte             // allowed in a request target
	hostByte               // allowed in a Host field
	nameByte               // allowed in a host's name, except percent signs
)

var classes = func() (t [256]uint8) {
	for c := 0x21; c < 256; c++ {
		if c != 0x7f && c != '#' {
			t[c] |= targetByte
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] |= tokenByte
	}
	for _, c := range "-._~!$&'()*+,;=:%[]" {
		t[c] |= hostByte
	}
	for _, c := range "-._~!$&'()*+,;=" {
		t[c] |= nameByte
	}
	for c := 0; c < 128; c++ {
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			t[c] |= tokenByte | hostByte | nameByte
		}
	}
	return t
}()

// prefixOf returns the length of b's longest prefix of bytes of the class.
func prefixOf(b []byte, class uint8) int {
	for i, c := range b {
		if classes[c]&class == 0 {
			return i
		}
	}
	return len(b)
}

// textPrefix returns the length of b's longest prefix that may stand in a field value: no control
// characters except tab, and no DEL (RFC 9110, section 5.5). It tests eight bytes at a time, since
// values are most of a head.
func textPrefix(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		low := (x - 0x20*ones) &^ x
		del := x ^ 0x7f*ones
		del = (del - ones) &^ del
		if found := (low | del) & tops; found != 0 {
			i += bits.TrailingZeros64(found) / 8
			if b[i] != '\t' {
				return i
			}
			i -= 7 // continue behind the tab
		}
	}
	for i < len(b) && isText(b[i]) {
		i++
	}
	return i
}

func isText(c byte) bool { return c >= 0x20 && c != 0x7f || c == '\t' }

// equalFold reports whether b equals name, which is in lower case, without regard to case.
func equalFold(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return false
		}
	}
	return true
}
