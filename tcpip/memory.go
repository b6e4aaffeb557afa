package tcpip

import (
	"sync/atomic"

	"weir/tcpip/tcp"
)

// budget limits the buffers of all connections together. The less is left, the smaller the buffers
// that it grants and the windows that it allows (as Linux under memory pressure). So a few large
// connections cannot starve many small ones, and unread connections cannot starve active ones.
type budget struct {
	available atomic.Int64
	total     int64 // Immutable
}

func (b *budget) init(most int) {
	b.available.Store(int64(most))
	b.total = int64(most)
}

// Get implements tcp.Memory.
func (b *budget) Get(size int) []byte { return b.get(size, 0) }

// get is Get, and leaves kept bytes for others.
func (b *budget) get(size int, kept int64) []byte {
	for {
		left := b.available.Load()
		if left -= int64(size); left < b.reserveFor(size)+kept {
			return nil
		}
		if b.available.CompareAndSwap(left+int64(size), left) {
			return getBuffer(size)
		}
	}
}

// reserveFor returns how many bytes must stay available when a buffer of a size is granted. The
// last quarter is for the smallest size: one such buffer lets a connection progress, slowly.
func (b *budget) reserveFor(size int) int64 {
	switch {
	case size > 64<<10:
		return b.total / 2
	case size > 16<<10:
		return b.total / 8 * 3
	case size > 4<<10:
		return b.total / 4
	}
	return 0
}

// charge takes bytes from the budget for an allocation that does not come from Get and has grown by
// growth bytes to size bytes; size decides the reserve. It reports whether they were available.
func (b *budget) charge(growth, size int) bool {
	for {
		left := b.available.Load()
		if left-int64(growth) < b.reserveFor(size) {
			return false
		}
		if b.available.CompareAndSwap(left, left-int64(growth)) {
			return true
		}
	}
}

// refund returns n charged bytes to the budget.
func (b *budget) refund(n int) { b.available.Add(int64(n)) }

// Put implements tcp.Memory.
func (b *budget) Put(p []byte) {
	b.available.Add(int64(len(p)))
	putBuffer(p)
}

// Share implements tcp.Memory: it returns how many bytes one connection may hold at present in one
// direction, of data to send (sending) or of received data. The less is available, the fewer. None
// of the last sixteenth is for data to send, so that it is left for received data. Below the size
// of the smallest buffer the share is 0: the connection must wait.
func (b *budget) Share(sending bool) int { return b.share(sending, 0) }

// share is Share, and leaves kept bytes for others.
func (b *budget) share(sending bool, kept int64) int {
	switch left := b.available.Load() - kept; {
	case sending && left < b.total/16:
		return 0
	case left > b.total/2:
		return tcp.Unlimited
	case left > b.total/8*3:
		return 64 << 10
	case left > b.total/4:
		return 16 << 10
	case left >= 4<<10:
		return 4 << 10
	}
	return 0
}

// heavyBudget is the budget for connections of clients that have many: they leave the last eighth
// for others. Otherwise the peer of thousands of connections that reads from none would stop all
// others until its connections time out.
type heavyBudget struct{ *budget }

// maxLightConns limits how many connections of a client are light.
const maxLightConns = 512

// lightConns is how many connections of a client use the whole budget. With the smallest buffers in
// both directions they take an eighth of what is left for them.
func (b *budget) lightConns() int {
	return int(min(max(b.total/8/8/(2*4<<10), 4), maxLightConns))
}

// Get implements tcp.Memory.
func (h heavyBudget) Get(size int) []byte { return h.get(size, h.total/8) }

// Share implements tcp.Memory.
func (h heavyBudget) Share(sending bool) int { return h.share(sending, h.total/8) }

var _, _ tcp.Memory = (*budget)(nil), heavyBudget{}
