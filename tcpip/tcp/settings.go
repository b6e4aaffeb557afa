package tcp

import "time"

// KeepAlive is how a silent peer is probed (RFC 9293, section 3.8.4).
type KeepAlive struct {
	// how long the peer may be silent until the first probe; 0: it is not probed
	Idle     time.Duration
	Interval time.Duration // between probes
	Count    int           // probes without an answer, until the connection ends
}

// KeepAlive is how the peer is probed now.
func (c *Conn) KeepAlive() KeepAlive {
	return KeepAlive{c.cfg.KeepAliveIdle, c.cfg.KeepAliveInterval, c.cfg.KeepAliveCount}
}

// SetKeepAlive has the peer probed otherwise.
func (c *Conn) SetKeepAlive(now Time, k KeepAlive) {
	c.setNow(now)
	c.change(func(cfg *Config) {
		cfg.KeepAliveIdle, cfg.KeepAliveInterval, cfg.KeepAliveCount = k.Idle, k.Interval, k.Count
	})
	c.keepAliveProbes, c.keepAliveAt = 0, 0
	if k.Idle > 0 && c.state.synchronized() && c.state != TimeWait {
		c.keepAliveAt = max(c.lastReceivedAt.Add(k.Idle), now.Add(1))
	}
}

// SetUserTimeout is how long what was sent may stay without acknowledgment, and a window closed to
// a peer that does not answer (RFC 5482, section 3, and Linux's TCP_USER_TIMEOUT). 0 or less is the
// default.
func (c *Conn) SetUserTimeout(d time.Duration) {
	c.change(func(cfg *Config) {
		cfg.UserTimeout = max(d, 0)
		*cfg = cfg.WithDefaults()
	})
	c.userTimeoutSet, c.peerUserTimeout = true, 0
	if c.cfg.AdvertiseUserTimeout {
		c.userTimeoutPending, c.ackPending = true, true
	}
}

// SetLinger is what Orphan does with what is not acknowledged then: below zero, which is the
// default, it is sent as long as that takes; 0: it is thrown away, and the peer is told by RST;
// above, the same when it has taken so long.
func (c *Conn) SetLinger(d time.Duration) {
	c.lingerSet, c.lingerTimeout = d >= 0, d
}

// change gives the connection a configuration of its own.
func (c *Conn) change(f func(*Config)) {
	own := *c.cfg
	f(&own)
	c.cfg = &own
}
