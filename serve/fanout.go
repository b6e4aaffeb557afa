package serve

import "slices"

// Outgoing is a text for one connection of a fan-out.
type Outgoing struct {
	Conn  Conn
	Text  []byte // does not change before [Fanout.Send] has returned
	Taken bool   // the result: what [Conn.Send] would have returned
}

// Fanout sends texts to many connections by few system calls. The kernel takes a list of sends at
// once (io_uring), so no receiver that wakes up preempts the sender between two sends. The zero
// value is ready for use, and its owner closes it.
//
// Where the kernel refuses io_uring, a Fanout sends each text by a system call of its own. It is
// refused on other systems than Linux, before Linux 5.18, in many containers (seccomp), and by the
// sysctl kernel.io_uring_disabled. A filter that kills the process instead of refusing io_uring
// does so at the first Send to several connections. Connections without a file descriptor, such as
// those of TLS, are always sent to one by one.
type Fanout struct {
	ring     *sendRing     // nil: not open
	refused  bool          // the kernel refuses rings
	sends    []pendingSend // those in the ring; their outboxes are locked
	finished []pendingSend // those whose afterSend is still to be called
}

// pendingSend is the send of one text.
type pendingSend struct {
	conn     batchConn
	outgoing *Outgoing
}

// batchConn is a Conn of this package, whose output can be sent together with that of others.
type batchConn interface {
	Conn
	// output returns the outbox, where it writes to, and the limit of its queue.
	output() (*outbox, nonblockingWriter, int)
	// afterSend ends a Send, without the lock of the outbox, and reports whether the bytes were
	// taken.
	afterSend(taken bool) bool
}

// Close frees what the kernel holds for the fan-out. A later Send opens it again.
func (f *Fanout) Close() {
	if f.ring != nil {
		f.ring.close()
		f.ring = nil
	}
}

// Send does for each text what [Conn.Send] does, and sets Taken. The texts of one connection keep
// their order. One goroutine at a time may call it.
func (f *Fanout) Send(batch []Outgoing) {
	if len(batch) == 1 || !f.hasRing(batch) {
		for i := range batch {
			batch[i].sendAlone()
		}
		return
	}
	f.sendByRing(batch)
	for i := range batch {
		if o := &batch[i]; asBatchConn(o.Conn) == nil {
			o.sendAlone()
		}
	}
}

// hasRing reports whether there is a ring for the batch. It opens the ring at the first batch that
// can use one, or at a later one if there were too few descriptors or too little memory.
func (f *Fanout) hasRing(batch []Outgoing) bool {
	if f.ring != nil || f.refused {
		return f.ring != nil
	}
	if !slices.ContainsFunc(batch, func(o Outgoing) bool { return asBatchConn(o.Conn) != nil }) {
		return false
	}
	var err error
	f.ring, err = newSendRing()
	f.refused = err != nil && !exhausted(err) // descriptors and memory may be free again later
	return err == nil
}

func (o *Outgoing) sendAlone() { o.Taken = o.Conn.Send(o.Text) }

// asBatchConn returns c if it has a file descriptor and is of this package, nil otherwise.
func asBatchConn(c Conn) batchConn {
	b, ok := c.(batchConn)
	if !ok {
		return nil
	}
	_, w, _ := b.output()
	if s, ok := w.(*stream); ok && s.rawConn == nil {
		return nil
	}
	return b
}
