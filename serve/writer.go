package serve

import "time"

// Writer takes what a session has to say during one call of Input or Wake. It is dead once that
// call returns. What was written is sent then, together; until the kernel has taken all of it the
// session gets no further Input. The bytes of one call stand in memory: a session with much to say
// says it in parts.
type Writer struct {
	buf  []byte
	at   time.Time // when to wake; zero: no change
	hold bool
}

// keep is the largest buffer, in bytes, that is kept from one call to the next.
const keep = 64 << 10

// Write appends p to what will be sent. It takes all of p and returns no error.
func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// WriteString is Write for a string.
func (w *Writer) WriteString(s string) (int, error) {
	w.buf = append(w.buf, s...)
	return len(s), nil
}

// WakeAt has Wake called at t. There is one such time: a later call replaces it, and being woken,
// for whatever reason, clears it.
func (w *Writer) WakeAt(t time.Time) { w.at = t }

// Hold keeps Input away until Wake has been called, by time or by Conn.Post. What the peer sends
// meanwhile waits in the kernel, so that a session that waits costs no memory. A Wake that came too
// early holds again. A stop ends a hold early: see Session.Wake.
func (w *Writer) Hold() { w.hold = true }

// Take gives what one call of a session has left with the writer, and makes it ready for the next
// one: bytes to send, which live until then, when to wake the session (zero: no change), and
// whether it holds. It is for those who call sessions themselves where [Run] cannot, as a network
// stack does.
func (w *Writer) Take() (out []byte, wakeAt time.Time, hold bool) {
	out, wakeAt, hold = w.buf, w.at, w.hold
	w.reset()
	return out, wakeAt, hold
}

// reset makes the writer ready for the next call.
func (w *Writer) reset() {
	if cap(w.buf) > keep {
		w.buf = nil
	}
	w.buf, w.at, w.hold = w.buf[:0], time.Time{}, false
}
