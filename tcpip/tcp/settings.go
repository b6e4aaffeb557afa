package tcp

import "time"

// KeepAlive configures how an idle peer is probed (RFC 9293, section 3.8.4).
type KeepAlive struct {
	Idle     time.Duration // idle time before the first probe; 0: no probes
	Interval time.Duration // between probes
	Count    int           // unanswered probes that end the connection
}

// KeepAlive returns the keep-alive settings.
func (c *Conn) KeepAlive() KeepAlive {
	return KeepAlive{c.cfg.KeepAliveIdle, c.cfg.KeepAliveInterval, c.cfg.KeepAliveCount}
}

// SetKeepAlive replaces the keep-alive settings.
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

// SetUserTimeout limits how long sent data may remain unacknowledged, and how long a window may
// stay closed while the peer does not answer (RFC 5482, section 3; Linux's TCP_USER_TIMEOUT). 0 or
// less selects the default.
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

// SetLinger sets what Orphan does with unacknowledged data. Below zero, the default, Orphan keeps
// sending it as long as that takes. With 0 it discards the data and sends a RST at once; above 0,
// it does so after that time.
func (c *Conn) SetLinger(d time.Duration) {
	c.lingerSet, c.lingerTimeout = d >= 0, d
}

// change gives the connection its own copy of the configuration and changes that.
func (c *Conn) change(f func(*Config)) {
	own := *c.cfg
	f(&own)
	c.cfg = &own
}
