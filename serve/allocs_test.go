package serve

import (
	"io"
	"net"
	"runtime"
	"testing"
)

// A message allocates nothing. The measurement covers this process, the client's side included.
// testing.AllocsPerRun is not used because it sets GOMAXPROCS to 1, and a loop needs more.
func TestMessagesAllocateNothing(t *testing.T) {
	const messages = 1000
	for _, w := range inProcess {
		if Ways[w].LinuxOnly && !onLinux {
			continue
		}
		// a pool of 256 workers may still be starting
		r := startService(t, w, sessions, services["echo"], Options{Workers: 2})
		c := r.dial()
		exchangeMany(t, c, 100)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exchangeMany(t, c, messages)
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n >= messages/2 {
			t.Errorf("%s: got %d allocations for %d messages, want less than one for two messages", w, n, messages)
		}
		r.stopsCleanly()
	}
}

func exchangeMany(t *testing.T, c net.Conn, n int) {
	t.Helper()
	message := make([]byte, 1000)
	for range n {
		c.Write(message)
		if _, err := io.ReadFull(c, message); err != nil {
			t.Fatal(err)
		}
	}
}
