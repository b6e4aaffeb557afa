package tcp

import "math"

// Memory gives the buffers of connections. Sizes are powers of two, of 4 KiB and up. A stack counts
// there what all its connections hold.
type Memory interface {
	Get(size int) []byte // of this length; nil: there is none left
	Put(b []byte)        // one that Get gave, and nobody uses any more

	// Share is how many bytes of what it sends, or of what has come, a connection is to make do
	// with: few where little is left. There has to be some left for what comes when there is none
	// for what is sent: two ends that both wait for memory to receive would wait for ever.
	Share(sending bool) int
}

// plain is the Memory of those who need no cap.
type heapMemory struct{}

func (heapMemory) Get(size int) []byte { return make([]byte, size) }
func (heapMemory) Put([]byte)          {}
func (heapMemory) Share(bool) int      { return Unlimited }

// Plenty is a share that bounds nothing.
const Unlimited = math.MaxInt32

// smallest is the size of the smallest buffer.
const minBufferSize = 4 << 10

// ring is a piece of a stream in a buffer that goes round. Its begin moves on as it is discarded;
// it holds no buffer while it is empty. The next buffer is at once as large as the last had to be:
// one that grew step by step would be copied as often.
type ring struct {
	buf           []byte // a power of two; nil while nothing is held
	head          int    // where the piece begins
	length        int    // bytes in a row from the begin; there may be others behind a gap
	maxNeeded     int    // that had to have room in b
	prevMaxNeeded int    // that had to have room in the last buffer
}

// free gives the buffer back.
func (r *ring) free(m Memory) {
	if r.buf != nil {
		m.Put(r.buf)
	}
	*r = ring{prevMaxNeeded: r.maxNeeded}
}

// reserve makes room for the bytes from the begin up to size, and says whether there is: what lies
// behind n up to keep is kept too.
func (r *ring) reserve(size, keep int, m Memory) bool {
	r.maxNeeded = max(r.maxNeeded, size)
	if size <= len(r.buf) {
		return true
	}
	b := m.Get(r.bufferSize(max(size, r.prevMaxNeeded)))
	if b == nil {
		b = m.Get(r.bufferSize(size))
	}
	r.prevMaxNeeded = 0 // what comes now is what counts
	if b == nil {
		return false
	}
	first, second := r.view(0, keep)
	copy(b[copy(b, first):], second)
	if r.buf != nil {
		m.Put(r.buf)
	}
	r.buf, r.head = b, 0
	return true
}

// wants is how large a buffer has to be had for so many bytes; 0: none, there is room.
func (r *ring) allocationFor(size int) int {
	if size <= len(r.buf) {
		return 0
	}
	return r.bufferSize(size)
}

// length is how large a buffer for so many bytes is.
func (r *ring) bufferSize(size int) int {
	length := max(minBufferSize, len(r.buf))
	for length < size {
		length *= 2
	}
	return length
}

// at is length bytes from an offset behind the begin on, in two pieces if they go round. There is
// room for them.
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

// put writes bytes at an offset behind the begin. There is room for them.
func (r *ring) put(offset int, p []byte) {
	first, second := r.view(offset, len(p))
	copy(second, p[copy(first, p):])
}

// get reads bytes from an offset behind the begin on.
func (r *ring) get(offset int, p []byte) {
	first, second := r.view(offset, len(p))
	copy(p[copy(p, first):], second)
}

// discard moves the begin on by so many of the n bytes. With keep, what is behind a gap stays, and
// the buffer with it.
func (r *ring) discard(length int, keep bool, m Memory) {
	r.length -= length
	if r.length == 0 && !keep {
		r.free(m)
		return
	}
	r.head = (r.head + length) & (len(r.buf) - 1)
}
