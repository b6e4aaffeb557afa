package serve

import (
	"crypto/tls"
	"fmt"
	"io"
	"syscall"
	"testing"
)

// shutdownOutput makes the kernel refuse further output, which nothing but a send notices.
func shutdownOutput(t *testing.T, c Conn) {
	t.Helper()
	shutdown := func(fd uintptr) {
		if err := syscall.Shutdown(int(fd), syscall.SHUT_WR); err != nil {
			t.Error(err)
		}
	}
	_, w, _ := asBatchConn(c).output()
	if s, ok := w.(*stream); ok {
		s.rawConn.Control(shutdown)
		return
	}
	shutdown(uintptr(loopConnOf(w).fd))
}

// A connection to which the kernel cannot send does not take its text. Others of the batch do.
func TestAFanoutReportsErrorsOfTheKernel(t *testing.T) {
	eachFanout(t, func(t *testing.T, w Way, by *Fanout) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		peers, reached := r.connect(opened, 3)
		shutdownOutput(t, reached[1].conn)
		batch := outgoingTo(reached, func(i int) []byte { return []byte{'a' + byte(i)} })
		by.Send(batch)
		for i, o := range batch {
			if want := i != 1; o.Taken != want {
				t.Errorf("connection %d: got taken %v, want %v", i, o.Taken, want)
			}
		}
		if n := r.meter.Snapshot().SendsRefused; n != 1 {
			t.Errorf("got %d refused sends counted, want 1", n)
		}
		for _, i := range []int{0, 2} {
			got := make([]byte, 1)
			if _, err := io.ReadFull(peers[i], got); err != nil || got[0] != 'a'+byte(i) {
				t.Errorf("connection %d: got %q, error %v; want %q", i, got, err, 'a'+byte(i))
			}
		}
		r.stopsCleanly()
	})
}

// Connections over TLS have no descriptor that the kernel could send to.
func TestAFanoutSendsToConnectionsOverTLS(t *testing.T) {
	config, err := testTLS()
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]*Fanout{"ring": {}, "refused": {refused: true}} {
		t.Run(name, func(t *testing.T) {
			defer by.Close()
			s, opened := reachableService()
			r := startService(t, Goroutine, sessions, s, Options{})
			encrypted := startServiceOver(t, tls.NewListener(listen(t), config), Goroutine, sessions, s, Options{})
			var peers []io.Reader
			var reached []*reachedSession
			for range 3 {
				c, sessions := encrypted.connect(opened, 1)
				peer := tls.Client(c[0], clientTLS(tls.VersionTLS13))
				echoed := make([]byte, 1)
				if _, err := peer.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(peer, echoed); err != nil { // then the handshake has ended
					t.Fatal(err)
				}
				peers, reached = append(peers, peer), append(reached, sessions...)
				c, sessions = r.connect(opened, 1)
				peers, reached = append(peers, c[0]), append(reached, sessions...)
			}
			for round := range 3 {
				by.Send(outgoingTo(reached, func(i int) []byte { return fmt.Appendf(nil, "%d to %d.", round, i) }))
			}
			for i, c := range peers {
				want := fmt.Sprintf("0 to %d.1 to %d.2 to %d.", i, i, i)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
					t.Errorf("connection %d: got %q, error %v; want %q", i, got, err, want)
				}
			}
			encrypted.stopsCleanly()
			r.stopsCleanly()
		})
	}
}
