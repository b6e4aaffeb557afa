package serve

import (
	"io"
	"testing"
	"time"
)

// Delivered reports output as unacknowledged until a peer that did not read has read it. Output
// that is queued when its connection breaks is never sent.
func TestDeliveredReportsAcknowledgedOutput(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{SendQueue: 10_000, DrainTimeout: 100 * time.Millisecond, FlushTimeout: time.Millisecond})
		c, cut := r.dial(), r.dial()
		reader, lost := <-opened, <-opened
		fill := func(to Conn) (n int) {
			for line := make([]byte, 1000); to.Send(line); n += len(line) {
			}
			return n
		}
		want := func(what string, to Conn, wantSent, wantAcknowledged bool) {
			t.Helper()
			eventually(t, what, func() bool {
				sent, acknowledged := Delivered(to)
				return sent == wantSent && (acknowledged == wantAcknowledged || !onLinux)
			})
		}
		exchange(t, c, "up")
		if reader.conn.RemoteAddr().String() != c.LocalAddr().String() {
			reader, lost = lost, reader
		}
		want("nothing is under way", reader.conn, true, true)
		n := fill(reader.conn)
		want("some waits", reader.conn, false, false)
		if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
			t.Fatal(err)
		}
		want("all was acknowledged", reader.conn, true, true)

		fill(lost.conn)
		cut.SetLinger(0)
		cut.Close()
		<-lost.closed
		want("some waits for ever", lost.conn, false, false)
		c.Close()
		r.stopsCleanly()
	})
}
