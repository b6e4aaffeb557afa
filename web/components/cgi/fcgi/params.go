package fcgi

import "encoding/binary"

// AppendParam appends a name and a value as a pair of section 3.4; each is shorter than 2 GB.
func AppendParam(b []byte, name, value string) []byte {
	b = appendLength(b, len(name))
	b = appendLength(b, len(value))
	b = append(b, name...)
	return append(b, value...)
}

// appendLength takes one byte up to 127, and four with the highest bit set beyond.
func appendLength(b []byte, n int) []byte {
	if n < 1<<7 {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint32(b, uint32(n)|1<<31)
}

// ParseParams reads pairs until b ends, and gives each to f.
func ParseParams(b []byte, f func(name, value string)) error {
	for len(b) > 0 {
		name, rest, ok := length(b)
		value, rest, ok2 := length(rest)
		if !ok || !ok2 || uint64(len(rest)) < uint64(name)+uint64(value) {
			return errShort
		}
		f(string(rest[:name]), string(rest[name:name+value]))
		b = rest[name+value:]
	}
	return nil
}

// length reads a length off the front of b.
func length(b []byte) (n int, rest []byte, ok bool) {
	switch {
	case len(b) == 0:
		return 0, nil, false
	case b[0] < 1<<7:
		return int(b[0]), b[1:], true
	case len(b) < 4:
		return 0, nil, false
	}
	return int(binary.BigEndian.Uint32(b) &^ (1 << 31)), b[4:], true
}
