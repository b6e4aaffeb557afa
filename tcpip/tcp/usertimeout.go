package tcp

import (
	"time"

	"weir/wire"
)

// The user timeout option (RFC 5482), which both ends have to be told to use: each tells how long
// it would wait, and waits as long as the more patient of the two.

// Bounds of a timeout that the peer may ask for (section 3.1).
const (
	minPeerUserTimeout = 100 * time.Second
	maxPeerUserTimeout = time.Hour
)

// tellTimeout puts the option in a segment without payload, if it is due and there is room.
func (c *Conn) addUserTimeoutOption(o *wire.TCPOptions) {
	if c.userTimeoutPending && o.SACKCount == 0 {
		c.userTimeoutPending, o.UserTimeout = false, c.cfg.UserTimeout
	}
}

// toldTimeout takes the peer's.
func (c *Conn) adoptPeerUserTimeout(d time.Duration) {
	if d == 0 || !c.cfg.AdvertiseUserTimeout || c.userTimeoutSet {
		return
	}
	c.peerUserTimeout = min(max(d, minPeerUserTimeout), maxPeerUserTimeout)
}

// userTimeout is how long what was sent may stay without acknowledgment.
func (c *Conn) userTimeout() time.Duration { return max(c.cfg.UserTimeout, c.peerUserTimeout) }
