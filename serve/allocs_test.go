package serve

import (
	"io"
	"testing"
)

// A message costs no memory: what is measured is this process, the client's side included.
func TestMessagesAllocateNothing(t *testing.T) {
	for _, w := range inProcess {
		if Ways[w].Linux && !onLinux {
			continue
		}
		r := begin(t, w, sessions, services["echo"], Options{})
		c := r.dial()
		message := make([]byte, 1000)
		perMessage := testing.AllocsPerRun(200, func() {
			c.Write(message)
			io.ReadFull(c, message)
		})
		if perMessage >= 1 {
			t.Errorf("%s allocates %v times for each message", w, perMessage)
		}
		r.stopsCleanly()
	}
}
