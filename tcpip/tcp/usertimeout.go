package tcp

import (
	"time"

	"weir/wire"
)

// The user timeout option (RFC 5482), which both ends have to be told to use: each tells how long
// it would wait, and waits as long as the more patient of the two.

// Bounds of a timeout that the peer may ask for (section 3.1).
const (
	leastUserTimeout = 100 * time.Second
	mostUserTimeout  = time.Hour
)

// tellTimeout puts the option in a segment without payload, if it is due and there is room.
func (c *Conn) tellTimeout(o *wire.TCPOptions) {
	if c.timeoutDue && o.SACKs == 0 {
		c.timeoutDue, o.UserTimeout = false, c.cfg.UserTimeout
	}
}

// toldTimeout takes the peer's.
func (c *Conn) toldTimeout(d time.Duration) {
	if d == 0 || !c.cfg.TellTimeout || c.timeoutSet {
		return
	}
	c.patience = min(max(d, leastUserTimeout), mostUserTimeout)
}

// userTimeout is how long what was sent may stay without acknowledgment.
func (c *Conn) userTimeout() time.Duration { return max(c.cfg.UserTimeout, c.patience) }
