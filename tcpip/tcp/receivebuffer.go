package tcp

// receiveBuffer holds received data: a ring, and after its in-order bytes lent pieces, which still
// lie in the packets of the current batch. The pieces count in length and the ring has room for
// them. CopyLent moves the pieces that were not read into the ring when the batch ends.
type receiveBuffer struct {
	ring
	lentPieces [][]byte
	nextLent   int // index of the first lent piece that was not read
	lentBytes  int // bytes of the lent pieces that were not read

	peeked    bool   // Peek returned a slice of the ring's buffer
	peekedBuf []byte // buffer of that slice if the ring has grown out of it since; nil: it has not
}

// idleLentCap is the capacity of lentPieces that an idle connection keeps.
const idleLentCap = 4

func (r *receiveBuffer) free(m Memory) {
	r.dropLent()
	r.unpeek(m)
	r.ring.free(m)
}

// reserve is ring.reserve: it reports whether there is room. It keeps a buffer that Peek returned a
// slice of until discard.
func (r *receiveBuffer) reserve(size, keep int, m Memory) bool {
	if r.peeked && size > len(r.buf) {
		m = peekGuard{m, r}
	}
	return r.ring.reserve(size, keep, m)
}

// peekGuard is a Memory that keeps the buffer of a peeked slice instead of freeing it.
type peekGuard struct {
	Memory
	r *receiveBuffer
}

// Put implements Memory.
func (k peekGuard) Put(b []byte) {
	if k.r.peekedBuf != nil { // the peeked slice lies in an earlier buffer
		k.Memory.Put(b)
		return
	}
	k.r.peekedBuf = b
}

// unpeek frees the buffer of a peeked slice.
func (r *receiveBuffer) unpeek(m Memory) {
	r.peeked = false
	if r.peekedBuf != nil {
		m.Put(r.peekedBuf)
		r.peekedBuf = nil
	}
}

// lend appends a piece to the in-order bytes without copying it. The caller adds it to length.
func (r *receiveBuffer) lend(p []byte) {
	r.lentPieces = append(r.lentPieces, p)
	r.lentBytes += len(p)
}

// copyLent moves the lent pieces into the ring.
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

// dropLent forgets the lent pieces.
func (r *receiveBuffer) dropLent() {
	clear(r.lentPieces)
	r.lentPieces, r.nextLent, r.lentBytes = r.lentPieces[:0], 0, 0
	if cap(r.lentPieces) > idleLentCap {
		r.lentPieces = nil
	}
}

// peek returns the next bytes that lie in one row, at most limit. Bytes of the ring are valid until
// discard, whatever arrives.
func (r *receiveBuffer) peek(limit int) []byte {
	if inRing := r.length - r.lentBytes; inRing > 0 {
		row, _ := r.view(0, min(limit, inRing))
		r.peeked = true
		return row
	}
	if r.lentBytes == 0 {
		return nil
	}
	return r.lentPieces[r.nextLent][:min(limit, len(r.lentPieces[r.nextLent]))]
}

// appendRows appends all bytes in order, a slice for each row, to rows, at most limit of them. As
// for peek.
func (r *receiveBuffer) appendRows(rows [][]byte, limit int) [][]byte {
	if inRing := r.length - r.lentBytes; inRing > 0 {
		first, second := r.view(0, inRing)
		r.peeked = true
		if rows = append(rows, first); len(second) > 0 {
			rows = append(rows, second)
		}
	}
	if r.lentBytes > 0 {
		rows = append(rows, r.lentPieces[r.nextLent:]...)
	}
	return rows[:min(len(rows), limit)]
}

// get copies the first bytes into p.
func (r *receiveBuffer) get(p []byte) {
	done := min(len(p), r.length-r.lentBytes)
	r.ring.get(0, p[:done])
	for i := r.nextLent; done < len(p); i++ {
		done += copy(p[done:], r.lentPieces[i])
	}
}

// discard removes bytes from the start: see ring.discard.
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

// ArriveLent is Arrive for a segment whose payload is valid until CopyLent is called. A payload in
// order is not copied until then.
func (c *Conn) ArriveLent(now Time, s *Segment) {
	c.lendPayload = true
	c.Arrive(now, s)
	c.lendPayload = false
}

// CopyLent copies the lent payloads that the application has not read.
func (c *Conn) CopyLent() { c.recvBuf.copyLent() }
