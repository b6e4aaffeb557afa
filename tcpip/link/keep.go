package link

// Keeper is a Queue whose reader may have frames longer than until its next Read, without a copy. The ends of a pair, the loopback and TAP devices are;
// what stands before a link to record or spoil it is not.
type Keeper interface {
	Queue

	// Keep makes the frame at i of what the last Read gave the reader's, and returns the buffer that its bytes are part of. The queue takes spare for
	// it, which may be a buffer that Keep has returned before; if that is nil, or too small, it makes another one. The reader calls it, once for a frame, before its next Read.
	Keep(i int, spare []byte) (buffer []byte)
}

// Keep implements Keeper.
func (m *memory) Keep(i int, spare []byte) []byte { return m.in.keep(i, spare) }

func (p *pipe) keep(i int, spare []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.next[p.taken-p.lent+i]
	b := f.Bytes
	f.Bytes = spare
	return b[:cap(b)]
}
