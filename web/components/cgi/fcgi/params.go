package fcgi

import "encoding/binary"

// AppendParam appends a name-value pair (section 3.4). Name and value are shorter than 2 GB.
func AppendParam(b []byte, name, value string) []byte {
	b = appendLength(b, len(name))
	b = appendLength(b, len(value))
	b = append(b, name...)
	return append(b, value...)
}

// appendLength appends a length: one byte up to 127, otherwise four bytes with the highest bit set.
func appendLength(b []byte, n int) []byte {
	if n < 1<<7 {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint32(b, uint32(n)|1<<31)
}

// ParseParams calls f for each pair in b.
func ParseParams(b []byte, f func(name, value string)) error {
	for len(b) > 0 {
		name, rest, ok := cutLength(b)
		value, rest, ok2 := cutLength(rest)
		if !ok || !ok2 || uint64(len(rest)) < uint64(name)+uint64(value) {
			return errShort
		}
		f(string(rest[:name]), string(rest[name:name+value]))
		b = rest[name+value:]
	}
	return nil
}

// cutLength cuts a length off the front of b.
func cutLength(b []byte) (n int, rest []byte, ok bool) {
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
