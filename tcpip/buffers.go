package tcpip

import (
	"math/bits"
	"sync"
	"unsafe"

	"weir/tcpip/link"
	"weir/wire"
)

// Buffers have sizes that are powers of two, from 4 KiB to 16 MiB, and are reused by size.
const (
	minSizeBits = 12
	maxSizeBits = 24
)

// bufferPools has a pool for each size. A buffer is stored as a pointer to its first byte, so that
// putting it back allocates nothing.
var bufferPools [maxSizeBits - minSizeBits + 1]sync.Pool // of *byte

func sizeClass(size int) int { return bits.Len(uint(size-1)) - minSizeBits }

func getBuffer(size int) []byte {
	c := sizeClass(size)
	if c < 0 || c >= len(bufferPools) {
		return make([]byte, size)
	}
	if first, ok := bufferPools[c].Get().(*byte); ok {
		return unsafe.Slice(first, 1<<(c+minSizeBits))
	}
	return make([]byte, 1<<(c+minSizeBits))
}

// putBuffer puts a buffer of getBuffer back into its pool.
func putBuffer(b []byte) {
	if c := sizeClass(len(b)); c >= 0 && c < len(bufferPools) && len(b) == 1<<(c+minSizeBits) {
		bufferPools[c].Put(&b[0])
	}
}

// outgoingFrame is a frame under construction with space for its headers. It comes from a pool,
// because arguments of the link.Queue interface escape: each segment would allocate otherwise.
type outgoingFrame struct {
	link.Parts
	headers [wire.EthernetHeader + wire.IPv4HeaderLargest + wire.TCPHeaderLargest]byte
	options [40]byte
}

var outgoingPool = sync.Pool{New: func() any { return new(outgoingFrame) }}
