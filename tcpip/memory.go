package tcpip

import (
	"sync/atomic"

	"weir/tcpip/tcp"
)

// budget is what the buffers of all connections may hold together. So that a few with much cannot
// take it from many with little, nor those whose readers have stopped from those that are read, the
// less is left, the smaller the buffers are that are given, and the less peers are asked to send
// (as Linux under pressure).
type budget struct {
	left atomic.Int64
	all  int64 // Immutable
}

func (b *budget) init(most int) {
	b.left.Store(int64(most))
	b.all = int64(most)
}

// Get implements tcp.Memory.
func (b *budget) Get(size int) []byte {
	for {
		left := b.left.Load()
		if left -= int64(size); left < b.reserved(size) {
			return nil
		}
		if b.left.CompareAndSwap(left+int64(size), left) {
			return getBuffer(size)
		}
	}
}

// reserved is what has to be left for smaller buffers. The last quarter is for the smallest, of
// which one is enough for a connection to go on, if slowly.
func (b *budget) reserved(size int) int64 {
	switch {
	case size > 64<<10:
		return b.all / 2
	case size > 16<<10:
		return b.all / 8 * 3
	case size > 4<<10:
		return b.all / 4
	}
	return 0
}

// charge counts bytes that are in no buffer of Get's, of size bytes that somebody has then, and
// reports whether there is room for them.
func (b *budget) charge(more, size int) bool {
	for {
		left := b.left.Load()
		if left-int64(more) < b.reserved(size) {
			return false
		}
		if b.left.CompareAndSwap(left, left-int64(more)) {
			return true
		}
	}
}

// refund gives back what was charged.
func (b *budget) refund(n int) { b.left.Add(int64(n)) }

// Put implements tcp.Memory.
func (b *budget) Put(p []byte) {
	b.left.Add(int64(len(p)))
	putBuffer(p)
}

// Share implements tcp.Memory. The last sixteenth is for what comes.
func (b *budget) Share(sending bool) int {
	switch left := b.left.Load(); {
	case sending && left < b.all/16:
		return 0
	case left > b.all/2:
		return tcp.Unlimited
	case left > b.all/8*3:
		return 64 << 10
	case left > b.all/4:
		return 16 << 10
	case left >= 4<<10:
		return 4 << 10
	}
	return 0
}

var _ tcp.Memory = (*budget)(nil)
