package serve

import (
	"net"
	"time"
)

// Stall is a call of a session or handler that holds up its event loop, and with it the loop's
// other connections.
type Stall struct {
	Loop   int
	Remote net.Addr      // the connection that was being served
	For    time.Duration // for at least that long; it goes on
	Stack  string        // where it is now; empty if it went on while the stack was taken
}
