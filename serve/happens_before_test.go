package serve

import (
	"net"
	"testing"
)

// TestAnExchangeOrdersMemory for the race detector, in every model within the process: what the
// service did before it answered is seen by the client that has read the answer.
func TestAnExchangeOrdersMemory(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		calls := 0 // not guarded: the bytes on the socket order its uses
		s := services["echo"]
		respond := s.respond
		s.respond = func(c net.Conn) Responder { calls++; return respond(c) }
		r := startService(t, w, responders, s, Options{})
		exchange(t, r.dial(), "x")
		if calls != 1 {
			t.Errorf("the service was called %d times, want once", calls)
		}
		r.stopsCleanly()
	})
}
