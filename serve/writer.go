package serve

import "time"

// Writer collects the output of a session during one call of Input or Wake. It is valid only until
// that call returns. The output is then sent in one piece. The session gets no further Input until
// the kernel has taken all of it. The output of one call is held in memory: write a large answer in
// parts.
type Writer struct {
	buf        []byte
	wakeAt     time.Time // when to call Wake; zero: no change
	pauseInput bool
}

// maxKeptBuffer is the largest buffer, in bytes, that is reused from one call to the next.
const maxKeptBuffer = 64 << 10

// Write appends p to the output. It takes all of p and returns no error.
func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// WriteString is Write for a string.
func (w *Writer) WriteString(s string) (int, error) {
	w.buf = append(w.buf, s...)
	return len(s), nil
}

// WakeAt sets the time at which Wake is called. There is one such time: a later call replaces it,
// and any call of Wake clears it.
func (w *Writer) WakeAt(t time.Time) { w.wakeAt = t }

// PauseInput stops calls of Input until Wake has been called, by time or by Conn.Post. Bytes from
// the peer meanwhile wait in the kernel, so that a waiting session costs no memory. A Wake that
// came too early pauses again. A stop ends a pause early: see Session.Wake.
func (w *Writer) PauseInput() { w.pauseInput = true }

// Take returns the results of one call of a session and resets the writer for the next one. out is
// the bytes to send, valid until the next call; wakeAt is when to call Wake (zero: no change);
// paused reports whether Input is paused. It is for code that calls sessions itself where [Run]
// cannot, such as a network stack.
func (w *Writer) Take() (out []byte, wakeAt time.Time, hold bool) {
	out, wakeAt, hold = w.buf, w.wakeAt, w.pauseInput
	w.reset()
	return out, wakeAt, hold
}

// reset prepares the writer for the next call.
func (w *Writer) reset() {
	if cap(w.buf) > maxKeptBuffer {
		w.buf = nil
	}
	w.buf, w.wakeAt, w.pauseInput = w.buf[:0], time.Time{}, false
}
