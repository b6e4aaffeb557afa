package serve

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// TestAStopEndsSessionsWhosePeersGoOnSending: a session handles what has arrived, and not what its
// peer sends afterwards, be it an answer to each response or a flood.
func TestAStopEndsSessionsWhosePeersGoOnSending(t *testing.T) {
	peers := map[string]func(net.Conn){"answers each response": talk, "floods": floodConn}
	for i, trait := range Ways {
		if !onLinux || !trait.RunsSessions { // elsewhere a socket does not tell what has arrived
			continue
		}
		for name, peer := range peers {
			t.Run(trait.Name+"/"+name, func(t *testing.T) {
				r := startService(t, Way(i), sessions, services["late"], Options{DrainTimeout: 20 * time.Second, Workers: 8})
				var all sync.WaitGroup
				for range 8 {
					c := r.dial()
					exchange(t, c, "hello")
					all.Go(func() { peer(c) })
				}
				began := time.Now()
				if err := r.stop(); err != nil || time.Since(began) > 19*time.Second {
					t.Errorf("Run returned %v after %v, want nil long before the drain times out", err, time.Since(began))
				}
				all.Wait()
			})
		}
	}
}

// talk sends a line when it has received one, and has always sent one more, until the connection
// ends.
func talk(c net.Conn) {
	line := []byte("on and on\n")
	got := make([]byte, len(line))
	for c.Write(line); ; {
		if _, err := c.Write(line); err != nil {
			return
		}
		if _, err := io.ReadFull(c, got); err != nil {
			return
		}
	}
}

// floodConn sends until the connection ends.
func floodConn(c net.Conn) {
	var reader sync.WaitGroup
	reader.Go(func() { io.Copy(io.Discard, c) })
	for part := noise(5, 1<<14); ; {
		if _, err := c.Write(part); err != nil {
			break
		}
	}
	reader.Wait()
}
