package serve

import (
	"net"
	"time"
)

// Stall is a call of a session or handler that blocks its event loop, and with it the loop's other
// connections.
type Stall struct {
	Loop     int
	Remote   net.Addr      // the connection whose session or handler was called
	Duration time.Duration // for at least that long; the call still runs
	Stack    string        // where the call is now; empty if it ended while the stack was taken
}
