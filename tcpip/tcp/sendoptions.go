package tcp

import "weir/wire"

// SetMaxSegment lowers the largest payload of a segment to size bytes, without options, at least 88
// (TCP_MAXSEG). Before the SYN is sent, it also is the MSS that the SYN announces: the peer sends
// no larger segments either. It cannot be raised again.
func (c *Conn) SetMaxSegment(now Time, size int) {
	size = max(size, minPeerMSS)
	if c.state == SynSent || c.state == SynReceived {
		c.change(func(cfg *Config) { cfg.MSS = min(cfg.MSS, size) })
		c.mss = min(c.mss, size)
	}
	if c.linkMSS != 0 && size < c.linkMSS {
		c.linkMSS = size
		c.LimitSegments(now, min(c.mssLimit(), size)+wire.TCPHeader)
	}
}

// SetNotSentLowat limits the bytes that were written and never sent (TCP_NOTSENT_LOWAT): see
// Config.NotSentLowat. 0 removes the limit.
func (c *Conn) SetNotSentLowat(bytes int) {
	c.change(func(cfg *Config) { cfg.NotSentLowat = max(0, bytes) })
	c.notifyWritable()
}

// SetMore says whether more data follows soon: while it is set, a segment that is not full waits as
// with SetCork (MSG_MORE).
func (c *Conn) SetMore(more bool) { c.more = more }

// notSentRoom is how many bytes NotSentLowat leaves free.
func (c *Conn) notSentRoom() int {
	if c.cfg.NotSentLowat == 0 {
		return maxBuffer
	}
	unsent := c.unsentBytes()
	if c.state == SynSent || c.state == SynReceived {
		unsent = c.sendBuf.length
	}
	return max(0, c.cfg.NotSentLowat-unsent)
}

// notifyWritable causes the event Writable if a Write has found no room, and there is enough now.
func (c *Conn) notifyWritable() {
	if !c.writeBlocked {
		return
	}
	limit := c.sendBufferLimit(c.memory().Share(true))
	if limit-c.sendBuf.length >= min(limit/3, 64<<10) && c.notSentRoom() >= min((c.cfg.NotSentLowat+1)/2, maxBuffer) {
		c.writeBlocked = false
		c.events |= Writable
	}
}
