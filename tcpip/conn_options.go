package tcpip

import (
	"net"
	"time"

	"weir/tcpip/tcp"
)

// Keep-alive defaults of package net (net.KeepAliveConfig).
const (
	keepIdle     = 15 * time.Second
	keepInterval = 15 * time.Second
	keepCount    = 9
)

// keepAliveDefaults sets the keep-alive fields that are zero to the defaults of package net.
func keepAliveDefaults(c *tcp.Config) {
	setDefault(&c.KeepAliveIdle, keepIdle)
	setDefault(&c.KeepAliveInterval, keepInterval)
	setDefault(&c.KeepAliveCount, keepCount)
	c.KeepAliveIdle = max(c.KeepAliveIdle, 0) // 0: never
}

// update calls change and sends what is due then.
func (c *Conn) update(change func(now tcp.Time)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedByApp {
		return c.wrap("set", net.ErrClosed)
	}
	now := c.s.now()
	change(now)
	c.flushLocked(now)
	return nil
}

// SetNoDelay turns Nagle's algorithm off, which is the default, or on (RFC 9293, section 3.7.4).
// Turning it off also sends what SetCork holds back, as Linux's TCP_NODELAY does.
func (c *Conn) SetNoDelay(yes bool) error {
	return c.update(func(tcp.Time) { c.tcp.SetNoDelay(yes) })
}

// SetCork sends full segments only, until it is turned off or data has waited for 200 ms or an RTO
// (Linux's TCP_CORK).
func (c *Conn) SetCork(yes bool) error {
	return c.update(func(tcp.Time) { c.tcp.SetCork(yes) })
}

// SetKeepAlive turns keep-alive probes on or off. Their times are those set by SetKeepAliveConfig
// and SetKeepAlivePeriod, or the defaults of package net.
func (c *Conn) SetKeepAlive(yes bool) error {
	return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: yes, Idle: -1, Interval: -1, Count: -1})
}

// SetKeepAlivePeriod sets how long the peer may be silent before the first probe. It may be a
// fraction of a second, but more than zero.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	return c.update(func(now tcp.Time) {
		k := c.tcp.KeepAlive()
		k.Idle = max(d, 1)
		c.tcp.SetKeepAlive(now, k)
	})
}

// SetKeepAliveConfig configures keep-alive probes, with the meanings of net.TCPConn: 0 means the
// default of package net (15 s, 15 s, 9), a negative value leaves the field as it is.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	return c.update(func(now tcp.Time) { c.setKeepAliveLocked(now, config) })
}

// setKeepAliveLocked is SetKeepAliveConfig. The caller holds mu.
func (c *Conn) setKeepAliveLocked(now tcp.Time, config net.KeepAliveConfig) {
	k := c.tcp.KeepAlive()
	setKeepAliveField(&k.Idle, config.Idle, keepIdle)
	setKeepAliveField(&k.Interval, config.Interval, keepInterval)
	setKeepAliveField(&k.Count, config.Count, keepCount)
	switch {
	case !config.Enable:
		k.Idle = 0
	case k.Idle == 0: // keep-alive was off, and config has no Idle
		k.Idle = keepIdle
	}
	c.tcp.SetKeepAlive(now, k)
}

// setKeepAliveField applies a field of net.KeepAliveConfig.
func setKeepAliveField[T int | time.Duration](field *T, value, standard T) {
	switch {
	case value == 0:
		*field = standard
	case value > 0:
		*field = value
	}
}

// SetLinger sets what Close does with unacknowledged data, with the meanings of net.TCPConn. A
// negative number, the default, sends it in the background. 0 discards it and resets the
// connection. A positive number does so after so many seconds. Close itself never waits.
func (c *Conn) SetLinger(seconds int) error {
	return c.update(func(tcp.Time) { c.tcp.SetLinger(time.Duration(seconds) * time.Second) })
}

// SetUserTimeout sets how long sent data may stay unacknowledged before the connection ends with
// ETIMEDOUT (RFC 5482, Linux's TCP_USER_TIMEOUT). Default 15 min.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	return c.update(func(tcp.Time) { c.tcp.SetUserTimeout(d) })
}

// SetTOS sets the TOS octet (RFC 2474) of segments sent from now on. Its two lowest bits are
// ignored: TCP uses them for ECN. Default 0, or Dialer.TOS.
func (c *Conn) SetTOS(octet uint8) error {
	return c.update(func(tcp.Time) { c.tos = octet &^ ecnMarked })
}

// SetMaxSegment lowers the largest payload of a segment that the connection sends, in bytes without
// options, to at least 88 (TCP_MAXSEG). It cannot be raised again. To announce a smaller MSS to the
// peer too, set it before the SYN: Dialer.Configure, ListenConfig.Configure.
func (c *Conn) SetMaxSegment(bytes int) error {
	return c.update(func(now tcp.Time) { c.tcp.SetMaxSegment(now, bytes) })
}

// SetNotSentLowat limits the bytes that were written and not sent yet (TCP_NOTSENT_LOWAT): Write
// waits while there are as many. So data that is written late is not behind much older data. 0, the
// default, removes the limit.
func (c *Conn) SetNotSentLowat(bytes int) error {
	return c.update(func(tcp.Time) { c.tcp.SetNotSentLowat(bytes) })
}

// WriteMore is Write of data that more follows soon: a segment at its end that is not full waits
// for the next Write, for at most 200 ms or an RTO (MSG_MORE).
func (c *Conn) WriteMore(p []byte) (int, error) { return c.write(p, true) }

// WriteUrgent is Write with the urgent pointer behind p. The data stays in line (SO_OOBINLINE). New
// protocols should not use it (RFC 6093).
func (c *Conn) WriteUrgent(p []byte) (int, error) {
	if err := c.update(func(tcp.Time) { c.tcp.MarkUrgent(len(p)) }); err != nil {
		return 0, err
	}
	return c.Write(p)
}

// Urgent returns how many of the next bytes to read are urgent, including bytes that have not
// arrived yet; 0: none.
func (c *Conn) Urgent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tcp.UrgentBytes()
}
