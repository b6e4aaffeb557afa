package tcp

// inbound is what has come: bytes in a ring, and behind those that are in order others that still
// lie where they came, in the packets of a batch that is not through. Those are counted in n, and
// the ring has room for them: what nobody has taken when the batch ends is moved there.
type inbound struct {
	ring
	lent  [][]byte
	first int // of lent that is not taken
	bytes int // of those

	peeked bool   // somebody looks at bytes in the ring's buffer
	kept   []byte // the buffer that they are in, when the ring has another by now; nil: it has that
}

// keptLent is how many pieces an idle connection keeps room for.
const keptLent = 4

func (r *inbound) free(m Memory) {
	r.returned()
	r.unpeek(m)
	r.ring.free(m)
}

// reserve is the ring's. A buffer that somebody looks at is kept until discard.
func (r *inbound) reserve(size, keep int, m Memory) bool {
	if r.peeked && size > len(r.b) {
		m = keeping{m, r}
	}
	return r.ring.reserve(size, keep, m)
}

// keeping is a Memory that is not given the buffer that somebody looks at.
type keeping struct {
	Memory
	r *inbound
}

// Put implements Memory.
func (k keeping) Put(b []byte) {
	if k.r.kept != nil { // what is looked at was in an earlier one
		k.Memory.Put(b)
		return
	}
	k.r.kept = b
}

// unpeek says that nobody looks any more.
func (r *inbound) unpeek(m Memory) {
	r.peeked = false
	if r.kept != nil {
		m.Put(r.kept)
		r.kept = nil
	}
}

// lend puts a piece behind what is in order, where it lies. The caller counts it in n.
func (r *inbound) lend(p []byte) {
	r.lent = append(r.lent, p)
	r.bytes += len(p)
}

// settle moves what is lent into the ring.
func (r *inbound) settle() {
	if len(r.lent) == 0 {
		return
	}
	at := r.n - r.bytes
	for _, p := range r.lent[r.first:] {
		r.put(at, p)
		at += len(p)
	}
	r.returned()
}

// returned forgets the pieces.
func (r *inbound) returned() {
	clear(r.lent)
	r.lent, r.first, r.bytes = r.lent[:0], 0, 0
	if cap(r.lent) > keptLent {
		r.lent = nil
	}
}

// next is bytes from the begin on, as many as lie in a row, and at most so many. Those in the ring
// stay as they are until discard, whatever comes.
func (r *inbound) next(most int) []byte {
	if held := r.n - r.bytes; held > 0 {
		row, _ := r.at(0, min(most, held))
		r.peeked = true
		return row
	}
	if r.bytes == 0 {
		return nil
	}
	return r.lent[r.first][:min(most, len(r.lent[r.first]))]
}

// get reads bytes from the begin on.
func (r *inbound) get(p []byte) {
	done := min(len(p), r.n-r.bytes)
	r.ring.get(0, p[:done])
	for i := r.first; done < len(p); i++ {
		done += copy(p[done:], r.lent[i])
	}
}

// discard moves the begin on by so many of the n bytes: see ring.
func (r *inbound) discard(length int, keep bool, m Memory) {
	for left := length - (r.n - r.bytes); left > 0; {
		k := min(left, len(r.lent[r.first]))
		r.lent[r.first] = r.lent[r.first][k:]
		r.bytes -= k
		left -= k
		if len(r.lent[r.first]) == 0 {
			r.first++
		}
	}
	if r.bytes == 0 && len(r.lent) > 0 {
		r.returned()
	}
	r.unpeek(m)
	r.ring.discard(length, keep, m)
}

// ArriveLent is Arrive for a segment whose payload lives until Settle is called: what comes in
// order is not copied before.
func (c *Conn) ArriveLent(now Time, s *Segment) {
	c.lending = true
	c.Arrive(now, s)
	c.lending = false
}

// Settle copies what is lent and nobody has read.
func (c *Conn) Settle() { c.in.settle() }
