package tcp

import "time"

// KeepAlive is how a silent peer is probed (RFC 9293, section 3.8.4).
type KeepAlive struct {
	// how long the peer may be silent until the first probe; 0: it is not probed
	Idle  time.Duration
	Every time.Duration // between probes
	Tries int           // probes without an answer, until the connection ends
}

// KeepAlive is how the peer is probed now.
func (c *Conn) KeepAlive() KeepAlive {
	return KeepAlive{c.cfg.KeepIdle, c.cfg.KeepEvery, c.cfg.KeepTries}
}

// SetKeepAlive has the peer probed otherwise.
func (c *Conn) SetKeepAlive(now Time, k KeepAlive) {
	c.at(now)
	c.change(func(cfg *Config) { cfg.KeepIdle, cfg.KeepEvery, cfg.KeepTries = k.Idle, k.Every, k.Tries })
	c.keepTries, c.keepAt = 0, 0
	if k.Idle > 0 && c.state.synchronized() && c.state != TimeWait {
		c.keepAt = max(c.heardAt.Add(k.Idle), now.Add(1))
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
	c.timeoutSet, c.patience = true, 0
	if c.cfg.TellTimeout {
		c.timeoutDue, c.ackNow = true, true
	}
}

// SetLinger is what Orphan does with what is not acknowledged then: below zero, which is the
// default, it is sent as long as that takes; 0: it is thrown away, and the peer is told by RST;
// above, the same when it has taken so long.
func (c *Conn) SetLinger(d time.Duration) {
	c.lingers, c.linger = d >= 0, d
}

// change gives the connection a configuration of its own.
func (c *Conn) change(f func(*Config)) {
	own := *c.cfg
	f(&own)
	c.cfg = &own
}
