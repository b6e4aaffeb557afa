package tcp

import (
	"time"

	"weir/wire"
)

// The user timeout option (RFC 5482). Each end advertises its timeout, and uses the longer of the
// two. Config.AdvertiseUserTimeout turns it on.

// Bounds of the timeout that is adopted from the peer (section 3.1).
const (
	minPeerUserTimeout = 100 * time.Second
	maxPeerUserTimeout = time.Hour
)

// addUserTimeoutOption adds the option to a segment without payload if it is due and there is room.
func (c *Conn) addUserTimeoutOption(o *wire.TCPOptions) {
	if c.userTimeoutPending && o.SACKCount == 0 {
		c.userTimeoutPending, o.UserTimeout = false, c.cfg.UserTimeout
	}
}

// adoptPeerUserTimeout adopts the peer's timeout within bounds. A timeout that the application has
// set takes precedence.
func (c *Conn) adoptPeerUserTimeout(d time.Duration) {
	if d == 0 || !c.cfg.AdvertiseUserTimeout || c.userTimeoutSet {
		return
	}
	c.peerUserTimeout = min(max(d, minPeerUserTimeout), maxPeerUserTimeout)
}

// userTimeout is how long sent data may remain unacknowledged.
func (c *Conn) userTimeout() time.Duration { return max(c.cfg.UserTimeout, c.peerUserTimeout) }
