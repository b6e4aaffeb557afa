package chatload

import (
	"net"
	"testing"

	"weir/lab/internal/rooms"
)

// serve runs a chat server for a test and returns its address.
func serve(t *testing.T, s *rooms.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the server has stopped
	go func() {
		defer close(done)
		s.Serve(l)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}
