package serve

import "syscall"

// sendByRing sends the texts for batchConns.
//
// The outboxes of a submission are locked together, so their descriptors stay open. No lock is
// waited for while others are held: if one is not free, the submission ends there, and the text is
// sent alone. So two fan-outs do not wait for each other.
func (f *Fanout) sendByRing(batch []Outgoing) {
	for len(batch) > 0 {
		rest, blocked := f.submitSome(batch)
		for i, s := range f.finished {
			s.outgoing.Taken = s.conn.afterSend(s.outgoing.Taken)
			f.finished[i] = pendingSend{}
		}
		if f.finished, batch = f.finished[:0], rest; blocked {
			rest[0].sendAlone()
			batch = rest[1:]
		}
	}
}

// submitSome sends the first texts of a batch by one submission, and returns the others. blocked
// reports whether the outbox of the first of these was locked.
func (f *Fanout) submitSome(batch []Outgoing) (rest []Outgoing, blocked bool) {
	for i := range batch {
		o := &batch[i]
		c := asBatchConn(o.Conn)
		if c == nil {
			continue
		}
		if len(f.sends) == ringSize {
			f.submit()
			return batch[i:], false
		}
		b, w, limit := c.output()
		if !b.mu.TryLock() {
			f.submit()
			return batch[i:], true
		}
		if !b.takesLocked(o.Text, limit) {
			f.finish(c, o, false)
			continue
		}
		if !b.canWriteLocked() {
			b.queueLocked(o.Text)
			f.finish(c, o, true)
			continue
		}
		if s, ok := w.(*stream); ok {
			if rest, blocked, done := f.submitByStream(s, c, batch[i:]); done {
				return rest, blocked
			}
			continue
		}
		f.add(loopConnOf(w).fd, c, o)
	}
	f.submit()
	return nil, false
}

// loopConnOf returns the connection of a loop to which w writes.
func loopConnOf(w nonblockingWriter) *conn {
	if h, ok := w.(*handlerConn); ok {
		return h.conn
	}
	return w.(*conn)
}

// submitByStream goes on with submitSome while it holds the descriptor of a stream: a call of
// package net lends it for as long as a function runs. So nothing that submitSome calls may wait
// for an outbox, whose holder may wait for this descriptor. The first text of the batch is for the
// stream, whose outbox is locked. If the descriptor is not lent, only that text is finished, and
// done is false.
func (f *Fanout) submitByStream(s *stream, c batchConn, batch []Outgoing) (rest []Outgoing, blocked, done bool) {
	err := s.rawConn.Write(func(fd uintptr) bool {
		f.add(int(fd), c, &batch[0])
		rest, blocked = f.submitSome(batch[1:])
		return true
	})
	if err == nil {
		return rest, blocked, true
	}
	b, _, _ := c.output()
	if _, err = s.cannotWrite(err); err == nil {
		b.queueLocked(batch[0].Text)
	}
	f.finish(c, &batch[0], err == nil)
	return nil, false, false
}

// add adds a send to the ring.
func (f *Fanout) add(fd int, c batchConn, o *Outgoing) {
	f.ring.add(fd, o.Text)
	f.sends = append(f.sends, pendingSend{c, o})
}

// submit sends what is in the ring, and unlocks the outboxes.
func (f *Fanout) submit() {
	if len(f.sends) == 0 {
		return
	}
	results := f.ring.submit()
	for i, s := range f.sends {
		f.sends[i] = pendingSend{}
		b, w, _ := s.conn.output()
		n, err := int(results[i]), error(nil)
		if n < 0 {
			n, err = 0, syscall.Errno(-n)
		}
		if n, err = w.wrote(n, err); err == nil {
			b.queueLocked(s.outgoing.Text[n:])
		}
		f.finish(s.conn, s.outgoing, err == nil)
	}
	f.sends = f.sends[:0]
}

// finish unlocks the outbox of a text, and sets the result.
func (f *Fanout) finish(c batchConn, o *Outgoing, taken bool) {
	b, _, _ := c.output()
	b.mu.Unlock()
	o.Taken = taken
	f.finished = append(f.finished, pendingSend{c, o})
}
