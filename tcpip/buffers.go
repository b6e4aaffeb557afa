package tcpip

import (
	"math/bits"
	"sync"
	"unsafe"

	"weir/tcpip/link"
	"weir/wire"
)

// Buffers are of powers of two, of 4 KiB to 16 MiB, and kept for the next who needs one of that
// size.
const (
	leastBits = 12
	mostBits  = 24
)

// buffers are kept by their first byte, so that keeping one allocates nothing.
var buffers [mostBits - leastBits + 1]sync.Pool // of *byte

func class(size int) int { return bits.Len(uint(size-1)) - leastBits }

func getBuffer(size int) []byte {
	c := class(size)
	if c < 0 || c >= len(buffers) {
		return make([]byte, size)
	}
	if first, ok := buffers[c].Get().(*byte); ok {
		return unsafe.Slice(first, 1<<(c+leastBits))
	}
	return make([]byte, 1<<(c+leastBits))
}

// putBuffer keeps one that getBuffer gave.
func putBuffer(b []byte) {
	if c := class(len(b)); c >= 0 && c < len(buffers) && len(b) == 1<<(c+leastBits) {
		buffers[c].Put(&b[0])
	}
}

// outgoing is a frame that is being put together, with room for its headers. A link is an
// interface, so all that it is given would be allocated anew for each segment.
type outgoing struct {
	link.Parts
	head    [wire.EthernetHeader + wire.IPv4HeaderLargest + wire.TCPHeaderLargest]byte
	options [40]byte
}

var outgoings = sync.Pool{New: func() any { return new(outgoing) }}
