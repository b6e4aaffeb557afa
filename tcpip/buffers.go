package tcpip

import (
	"math/bits"
	"sync"
)

// Buffers are of powers of two, of 4 KiB to 16 MiB, and kept for the next who needs one of that size.
const (
	leastBits = 12
	mostBits  = 24
)

var buffers [mostBits - leastBits + 1]sync.Pool // of *[]byte

func class(size int) int { return bits.Len(uint(size-1)) - leastBits }

func getBuffer(size int) []byte {
	c := class(size)
	if c < 0 || c >= len(buffers) {
		return make([]byte, size)
	}
	if b, ok := buffers[c].Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 1<<(c+leastBits))
}

func putBuffer(b []byte) {
	if c := class(len(b)); c >= 0 && c < len(buffers) {
		buffers[c].Put(&b)
	}
}
