package tcp

// inbound is what has come: bytes in a ring, and behind those that are in order others that still
// lie where they came, in the packets of a batch that is not through. Those are counted in n, and
// the ring has room for them: what nobody has taken when the batch ends is moved there.
type receiveBuffer struct {
	ring
	lentPieces [][]byte
	nextLent   int // of lent that is not taken
	lentBytes  int // of those

	peeked    bool   // somebody looks at bytes in the ring's buffer
	peekedBuf []byte // the buffer that they are in, when the ring has another by now; nil: it has that
}

// keptLent is how many pieces an idle connection keeps room for.
const idleLentCap = 4

func (r *receiveBuffer) free(m Memory) {
	r.dropLent()
	r.unpeek(m)
	r.ring.free(m)
}

// reserve is the ring's. A buffer that somebody looks at is kept until discard.
func (r *receiveBuffer) reserve(size, keep int, m Memory) bool {
	if r.peeked && size > len(r.buf) {
		m = peekGuard{m, r}
	}
	return r.ring.reserve(size, keep, m)
}

// keeping is a Memory that is not given the buffer that somebody looks at.
type peekGuard struct {
	Memory
	r *receiveBuffer
}

// Put implements Memory.
func (k peekGuard) Put(b []byte) {
	if k.r.peekedBuf != nil { // what is looked at was in an earlier one
		k.Memory.Put(b)
		return
	}
	k.r.peekedBuf = b
}

// unpeek says that nobody looks any more.
func (r *receiveBuffer) unpeek(m Memory) {
	r.peeked = false
	if r.peekedBuf != nil {
		m.Put(r.peekedBuf)
		r.peekedBuf = nil
	}
}

// lend puts a piece behind what is in order, where it lies. The caller counts it in n.
func (r *receiveBuffer) lend(p []byte) {
	r.lentPieces = append(r.lentPieces, p)
	r.lentBytes += len(p)
}

// settle moves what is lent into the ring.
func (r *receiveBuffer) copyLent() {
	if len(r.lentPieces) == 0 {
		return
	}
	at := r.length - r.lentBytes
	for _, p := range r.lentPieces[r.nextLent:] {
		r.put(at, p)
		at += len(p)
	}
	r.dropLent()
}

// returned forgets the pieces.
func (r *receiveBuffer) dropLent() {
	clear(r.lentPieces)
	r.lentPieces, r.nextLent, r.lentBytes = r.lentPieces[:0], 0, 0
	if cap(r.lentPieces) > idleLentCap {
		r.lentPieces = nil
	}
}

// next is bytes from the begin on, as many as lie in a row, and at most so many. Those in the ring
// stay as they are until discard, whatever comes.
func (r *receiveBuffer) peek(most int) []byte {
	if held := r.length - r.lentBytes; held > 0 {
		row, _ := r.view(0, min(most, held))
		r.peeked = true
		return row
	}
	if r.lentBytes == 0 {
		return nil
	}
	return r.lentPieces[r.nextLent][:min(most, len(r.lentPieces[r.nextLent]))]
}

// get reads bytes from the begin on.
func (r *receiveBuffer) get(p []byte) {
	done := min(len(p), r.length-r.lentBytes)
	r.ring.get(0, p[:done])
	for i := r.nextLent; done < len(p); i++ {
		done += copy(p[done:], r.lentPieces[i])
	}
}

// discard moves the begin on by so many of the n bytes: see ring.
func (r *receiveBuffer) discard(length int, keep bool, m Memory) {
	for left := length - (r.length - r.lentBytes); left > 0; {
		k := min(left, len(r.lentPieces[r.nextLent]))
		r.lentPieces[r.nextLent] = r.lentPieces[r.nextLent][k:]
		r.lentBytes -= k
		left -= k
		if len(r.lentPieces[r.nextLent]) == 0 {
			r.nextLent++
		}
	}
	if r.lentBytes == 0 && len(r.lentPieces) > 0 {
		r.dropLent()
	}
	r.unpeek(m)
	r.ring.discard(length, keep, m)
}

// ArriveLent is Arrive for a segment whose payload lives until Settle is called: what comes in
// order is not copied before.
func (c *Conn) ArriveLent(now Time, s *Segment) {
	c.lendPayload = true
	c.Arrive(now, s)
	c.lendPayload = false
}

// Settle copies what is lent and nobody has read.
func (c *Conn) CopyLent() { c.recvBuf.copyLent() }
