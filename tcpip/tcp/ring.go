package tcp

import "math"

// Memory allocates the buffers of connections. Sizes are powers of two, 4 KiB or more. The
// connections of a stack share one Memory, which limits what they hold in all.
type Memory interface {
	Get(size int) []byte // a buffer of this length; nil: none is left
	Put(b []byte)        // frees a buffer from Get; nothing may use it afterwards

	// Share returns how many bytes a connection may hold of data to send (sending) or of received
	// data: few when memory is scarce. An implementation must keep a part of the memory for
	// received data: as it runs out, the share of data to send becomes 0 first. Otherwise two ends
	// that fill their memory with data to send could not receive each other's, and would wait for
	// ever.
	Share(sending bool) int
}

// SetHeavy has the connection use Config.HeavyMemory, which leaves more for the connections of
// other clients. It is called before the first segment is sent.
func (c *Conn) SetHeavy() { c.heavy = true }

// memory returns what allocates the connection's buffers.
func (c *Conn) memory() Memory {
	if c.heavy {
		return c.cfg.HeavyMemory
	}
	return c.cfg.Memory
}

// heapMemory is a Memory without a limit: Go's heap.
type heapMemory struct{}

func (heapMemory) Get(size int) []byte { return make([]byte, size) }
func (heapMemory) Put([]byte)          {}
func (heapMemory) Share(bool) int      { return Unlimited }

// Unlimited is a share without a limit.
const Unlimited = math.MaxInt32

// minBufferSize is the size of the smallest buffer, in bytes.
const minBufferSize = 4 << 10

// ring is a range of the stream in a ring buffer. put writes bytes into it; the caller then
// increases length by the bytes that are in order. discard removes bytes from the start, and
// reduces length. While a ring is empty it holds no buffer. The first buffer after that is at once
// as large as the last one had to be, so that growing does not copy the data several times.
type ring struct {
	buf           []byte // a power of two long; nil while the ring is empty
	head          int    // index in buf of the first byte
	length        int    // bytes in order from head; out-of-order bytes may follow after a gap
	maxNeeded     int    // largest size reserved in buf
	prevMaxNeeded int    // maxNeeded of the buffer that was freed last; 0: already used by reserve
}

// free frees the buffer.
func (r *ring) free(m Memory) {
	if r.buf != nil {
		m.Put(r.buf)
	}
	*r = ring{prevMaxNeeded: r.maxNeeded}
}

// reserve makes room for size bytes from the start and reports whether there is. A larger buffer
// gets a copy of the first used bytes, which may include out-of-order data.
func (r *ring) reserve(size, used int, m Memory) bool {
	r.maxNeeded = max(r.maxNeeded, size)
	if size <= len(r.buf) {
		return true
	}
	b := m.Get(r.bufferSize(max(size, r.prevMaxNeeded)))
	if b == nil {
		b = m.Get(r.bufferSize(size))
	}
	r.prevMaxNeeded = 0 // it sets the size of the first buffer after free only
	if b == nil {
		return false
	}
	first, second := r.view(0, used)
	copy(b[copy(b, first):], second)
	if r.buf != nil {
		m.Put(r.buf)
	}
	r.buf, r.head = b, 0
	return true
}

// allocationFor returns the least size of buffer that reserve would allocate for size bytes, or 0
// if the present one is large enough.
func (r *ring) allocationFor(size int) int {
	if size <= len(r.buf) {
		return 0
	}
	return r.bufferSize(size)
}

// bufferSize returns the size of a buffer for size bytes: a power of two, no less than the present
// one.
func (r *ring) bufferSize(size int) int {
	length := max(minBufferSize, len(r.buf))
	for length < size {
		length *= 2
	}
	return length
}

// view returns length bytes from an offset, in two parts if they wrap around. They must have been
// reserved.
func (r *ring) view(offset, length int) (first, second []byte) {
	if length == 0 {
		return nil, nil
	}
	from := (r.head + offset) & (len(r.buf) - 1)
	if end := from + length; end > len(r.buf) {
		return r.buf[from:], r.buf[:end-len(r.buf)]
	}
	return r.buf[from : from+length], nil
}

// put writes bytes at an offset from the start. They must have been reserved. It does not change
// length.
func (r *ring) put(offset int, p []byte) {
	first, second := r.view(offset, len(p))
	copy(second, p[copy(first, p):])
}

// get copies the bytes at an offset from the start into p.
func (r *ring) get(offset int, p []byte) {
	first, second := r.view(offset, len(p))
	copy(p[copy(p, first):], second)
}

// discard removes n bytes from the start. The buffer is freed when no byte is left in order, unless
// hasOutOfOrder is set: then it holds later bytes after a gap.
func (r *ring) discard(n int, hasOutOfOrder bool, m Memory) {
	r.length -= n
	if r.length == 0 && !hasOutOfOrder {
		r.free(m)
		return
	}
	r.head = (r.head + n) & (len(r.buf) - 1)
}
