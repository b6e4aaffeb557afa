package stream

import (
	"bytes"
	"fmt"
)

// at returns the byte that connection number (0 to 15) sends at position i (from 0).
func at(number, i int) byte {
	h := uint32(i)*2654435761 + uint32(number)*40503
	h ^= h >> 15
	h *= 2246822519
	return byte(number<<4) | byte(h>>28)
}

// pattern returns n bytes of a connection, starting at position from.
func pattern(number, from, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = at(number, from+i)
	}
	return b
}

// matchLength is how many bytes are compared to locate a part of the output: 32 half bytes are
// unique.
const matchLength = 32

// judge returns what is wrong with the bytes received from a connection that sent most bytes, of
// which at least least must be present. It returns nil if they are the start of what was sent.
func judge(number int, got []byte, least, most int) error {
	for i, x := range got[:min(len(got), most)] {
		if x != at(number, i) {
			return diagnose(number, got, i, most)
		}
	}
	switch {
	case len(got) > most:
		return fmt.Errorf("connection %d: expected %d bytes, saw %d: some are doubled", number, most, len(got))
	case len(got) < least:
		return fmt.Errorf("connection %d: expected %d bytes, saw %d: the rest is lost", number, least, len(got))
	}
	return nil
}

// diagnose describes the fault at got[i], the first byte that differs from what was sent.
func diagnose(number int, got []byte, i, sent int) error {
	want := pattern(number, 0, sent)
	window := got[i:min(i+matchLength, len(got))]
	q := bytes.Index(want, window)
	skipped := want[i:min(i+matchLength, len(want))]
	switch {
	case q < 0 || len(window) < matchLength/2:
		return fmt.Errorf("connection %d: expected 0x%02x as byte %d of %d, saw 0x%02x: bytes are changed or out of order",
			number, at(number, i), i, sent, got[i])
	case q < i:
		return fmt.Errorf("connection %d: byte %d of %d is followed by byte %d again: bytes are doubled", number, i-1, sent, q)
	case bytes.Contains(got[i:], skipped):
		return fmt.Errorf("connection %d: bytes from %d of %d come before those from %d: bytes are out of order", number, q, sent, i)
	}
	return fmt.Errorf("connection %d: bytes %d to %d of %d are lost", number, i, q-1, sent)
}

// split separates output by connection.
func split(output []byte) (byNumber [16][]byte) {
	for _, x := range output {
		byNumber[x>>4] = append(byNumber[x>>4], x)
	}
	return byNumber
}

// amount is the output that a connection must have: at least least and at most most bytes, from its
// first on.
type amount struct{ number, least, most int }

// expectAmounts judges that the output contains these amounts and nothing else.
func expectAmounts(amounts []amount) func(output []byte) error {
	return func(output []byte) error {
		all := split(output)
		for _, a := range amounts {
			if err := judge(a.number, all[a.number], a.least, a.most); err != nil {
				return fmt.Errorf("standard output: %w", err)
			}
			all[a.number] = nil
		}
		for number, rest := range all {
			if len(rest) > 0 {
				return fmt.Errorf("standard output: %d bytes that were not sent, such as %q (they look like connection %d)",
					len(rest), rest[:min(len(rest), matchLength)], number)
			}
		}
		return nil
	}
}
