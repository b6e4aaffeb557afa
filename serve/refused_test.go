package serve

import (
	"io"
	"net"
	"testing"
)

// A peer that Open refuses receives what Open has sent, also where only the owner can write: over
// TLS or a WebSocket.
func TestARefusedPeerReceivesTheReason(t *testing.T) {
	const why = "ERROR :full\r\n"
	refusing := service{open: func(c Conn) Session {
		c.Send([]byte(why))
		return nil
	}}
	check := func(t *testing.T, l net.Listener, w Way) {
		r := startServiceOver(t, l, w, sessions, refusing, Options{})
		if got, err := io.ReadAll(r.dial()); string(got) != why || err != nil {
			t.Errorf("a refused peer: got %q, error %v; want %q", got, err, why)
		}
		r.stopsCleanly()
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		t.Run("with a descriptor", func(t *testing.T) { check(t, listen(t), w) })
		if !Ways[w].NeedsDescriptor {
			t.Run("without a descriptor", func(t *testing.T) { check(t, bareListener{listen(t)}, w) })
		}
	})
}
