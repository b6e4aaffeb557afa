package tcpip

import (
	"net"
	"time"

	"weir/tcpip/tcp"
)

// Defaults of the net package for keep-alive (net.KeepAliveConfig).
const (
	keepIdle  = 15 * time.Second
	keepEvery = 15 * time.Second
	keepTries = 9
)

// keepAlive has silent peers probed as the net package does, where c does not say otherwise.
func keepAlive(c *tcp.Config) {
	setDefault(&c.KeepAliveIdle, keepIdle)
	setDefault(&c.KeepAliveInterval, keepEvery)
	setDefault(&c.KeepAliveCount, keepTries)
	c.KeepAliveIdle = max(c.KeepAliveIdle, 0) // which is never
}

// set changes something of the connection, and lets it send what is due then.
func (c *Conn) set(change func(now tcp.Time)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.wrap("set", net.ErrClosed)
	}
	now := c.s.now()
	change(now)
	c.flush(now)
	return nil
}

// SetNoDelay has small writes sent at once, which is the default, or joined (RFC 9293, section 3.7.4).
// With yes, what waits is sent, also if a cork holds it back (as Linux's TCP_NODELAY).
func (c *Conn) SetNoDelay(yes bool) error {
	return c.set(func(tcp.Time) { c.tcp.SetNoDelay(yes) })
}

// SetCork has only full segments sent, until it is taken back or what waits has done so for 200 ms
// or a retransmission time (as Linux's TCP_CORK).
func (c *Conn) SetCork(yes bool) error {
	return c.set(func(tcp.Time) { c.tcp.SetCork(yes) })
}

// SetKeepAlive has a silent peer probed, by what SetKeepAliveConfig and SetKeepAlivePeriod have
// said, or as the net package does; or not.
func (c *Conn) SetKeepAlive(yes bool) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: yes, Idle: -1, Interval: -1, Count: -1})
}

// SetKeepAlivePeriod is how long a peer may be silent until it is probed, in whole or in part
// seconds, more than zero.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	return c.set(func(now tcp.Time) {
		k := c.tcp.KeepAlive()
		k.Idle = max(d, 1)
		c.tcp.SetKeepAlive(now, k)
	})
}

// SetKeepAliveConfig says how a silent peer is probed, with the meanings of net.TCPConn: 0 is the
// net package's default (15 s, 15 s, 9), below zero leaves what is.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.set(func(now tcp.Time) { c.keepAlive(now, config) })
}

// keepAlive is SetKeepAliveConfig. The caller holds mu.
func (c *Conn) keepAlive(now tcp.Time, config net.KeepAliveConfig) {
	k := c.tcp.KeepAlive()
	set(&k.Idle, config.Idle, keepIdle)
	set(&k.Interval, config.Interval, keepEvery)
	set(&k.Count, config.Count, keepTries)
	switch {
	case !config.Enable:
		k.Idle = 0
	case k.Idle == 0: // it was off, and nothing else was said
		k.Idle = keepIdle
	}
	c.tcp.SetKeepAlive(now, k)
}

// set is what a field of net.KeepAliveConfig does.
func set[T int | time.Duration](field *T, value, standard T) {
	switch {
	case value == 0:
		*field = standard
	case value > 0:
		*field = value
	}
}

// SetLinger is what Close does with what the peer has not acknowledged, with the meanings of
// net.TCPConn: below zero, which is the default, it is sent meanwhile; 0: it is thrown away, and
// the peer's connection reset; above: the same, after so many seconds. Close itself never waits.
func (c *Conn) SetLinger(seconds int) error {
	return c.set(func(tcp.Time) { c.tcp.SetLinger(time.Duration(seconds) * time.Second) })
}

// SetUserTimeout is how long the peer may leave unacknowledged what was sent, until the connection
// ends with ETIMEDOUT (RFC 5482, Linux's TCP_USER_TIMEOUT). Default 15 min.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	return c.set(func(tcp.Time) { c.tcp.SetUserTimeout(d) })
}

// SetTOS is the octet of differentiated services that segments have from now on (RFC 2474). Its two
// lowest bits are not looked at: congestion notification is TCP's own. Default 0, or what Dialer
// says.
func (c *Conn) SetTOS(octet uint8) error {
	return c.set(func(tcp.Time) { c.service = octet &^ ecnMarked })
}

// WriteUrgent is Write of bytes that the peer is told to be urgent, with all that was written
// before. It stays in line: no protocol should need it (RFC 6093).
func (c *Conn) WriteUrgent(p []byte) (int, error) {
	if err := c.set(func(tcp.Time) { c.tcp.MarkUrgent(len(p)) }); err != nil {
		return 0, err
	}
	return c.Write(p)
}

// Urgent is how many of the bytes to read next the peer says to be urgent, those that have not come
// yet included; 0: none.
func (c *Conn) Urgent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tcp.UrgentBytes()
}
