package tcp

import "weir/wire"

// fastOpen is the state of a connection that is opened with TCP Fast Open (RFC 7413): the SYN of a
// client that has a cookie of the server carries data, and the server's application gets it before
// the handshake is complete.
type fastOpen struct {
	mode   fastOpenMode
	cookie wire.FastOpenCookie // of the SYN, or the one that the SYN,ACK grants; empty: none
	mss    int                 // MSS of the server, as far as it is known
	// bytes of data in the SYN: sent in fastOpenSent, received in fastOpenAccepted
	synData int
	acked   int // of synData: acknowledged by the SYN,ACK
}

// fastOpenMode is what an end does of Fast Open.
type fastOpenMode uint8

const (
	fastOpenRequest  fastOpenMode = iota // a client: the SYN will request a cookie
	fastOpenWaiting                      // a client with a cookie: the SYN waits for data
	fastOpenSent                         // a client: the SYN was sent, with the option
	fastOpenLearnt                       // a client: TakeFastOpenResult was called
	fastOpenGrant                        // a server: the SYN,ACK grants a cookie
	fastOpenAccepted                     // a server: the SYN had a valid cookie
)

// FastOpen is what a client knows of a server's Fast Open (RFC 7413, section 4.1.3).
type FastOpen struct {
	Cookie wire.FastOpenCookie // cookie that the server has granted; empty: request one
	MSS    int                 // MSS that the server has announced, or a default
}

// DialFastOpen is Dial with Fast Open. Without a cookie, the SYN requests one. With a cookie, the
// SYN waits for the first Write and carries what that writes; SendSYN sends it without data.
func DialFastOpen(cfg *Config, iss wire.Seq, tsOffset uint32, f FastOpen) *Conn {
	c := Dial(cfg, iss, tsOffset)
	c.fastOpen = &fastOpen{cookie: f.Cookie, mss: f.MSS}
	if f.Cookie.Length > 0 {
		c.fastOpen.mode, c.synPending = fastOpenWaiting, false
	}
	return c
}

// AwaitsData reports whether the SYN has not been sent, because it shall carry data.
func (c *Conn) AwaitsData() bool {
	return c.fastOpen != nil && c.fastOpen.mode == fastOpenWaiting && c.state == SynSent
}

// SendSYN has the next Output send a SYN that waits for data, without more of it.
func (c *Conn) SendSYN() { c.synPending = c.synPending || c.AwaitsData() }

// HasWritten reports whether the application has written data that is not acknowledged, or has
// called CloseWrite.
func (c *Conn) HasWritten() bool { return c.sendBuf.length > 0 || c.finQueued }

// AcceptFastOpen is Accept for a SYN with the option of Fast Open. grant is the cookie that the
// SYN,ACK grants the client; empty: none. With valid set, the SYN has a valid cookie: the
// application can read its data and write at once, before the handshake is complete. Accepted
// reports whether it can: without memory for the data, the handshake is an ordinary one.
func AcceptFastOpen(cfg *Config, iss wire.Seq, tsOffset uint32, syn *Segment, grant wire.FastOpenCookie, valid bool, now Time) *Conn {
	c := Accept(cfg, iss, tsOffset, syn, now)
	c.fastOpen = &fastOpen{mode: fastOpenGrant, cookie: grant}
	if valid && c.receiveSYNData(syn.Payload) {
		c.fastOpen.mode = fastOpenAccepted
	}
	return c
}

// receiveSYNData receives the data of a SYN, and reports whether there was memory for it. A FIN in
// the SYN is not acknowledged, so that the client sends it again.
func (c *Conn) receiveSYNData(p []byte) bool {
	window := int(synWindow(c.cfg))
	c.rcvWndEdge = c.rcvNxt.Add(window)
	p = p[:min(len(p), window)]
	if !c.storePayload(c.rcvNxt, p) {
		return false
	}
	c.fastOpen.synData, c.fastOpen.acked = len(p), len(p)
	c.ackPending, c.delayedACKAt, c.unackedBytes = false, 0, 0 // the SYN,ACK acknowledges it
	return true
}

// Accepted reports whether the application may use the connection before the handshake is complete:
// the peer's SYN had a valid cookie.
func (c *Conn) Accepted() bool { return c.fastOpen != nil && c.fastOpen.mode == fastOpenAccepted }

// addFastOpen adds the option, and the data of a client, to a SYN or SYN,ACK. A SYN that is
// retransmitted has neither: something on the path may drop such SYNs (section 4.1.3.1).
func (c *Conn) addFastOpen(s *OutSegment) {
	f, o := c.fastOpen, &s.Options
	if c.state == SynReceived {
		if c.passiveOpen && f.cookie.Length > 0 {
			o.HasFastOpen, o.FastOpen = true, f.cookie
		}
		return
	}
	if c.synTransmits > 0 {
		return
	}
	f.mode = fastOpenSent
	o.HasFastOpen, o.FastOpen = true, f.cookie
	length := len(o.Append(nil))
	if length > wire.TCPHeaderLargest-wire.TCPHeader {
		o.UserTimeout, c.userTimeoutPending = 0, true
		length = len(o.Append(nil))
	}
	if n := min(c.sendBuf.length, min(c.cfg.MSS, f.mss)-length); n > 0 && f.cookie.Length > 0 {
		s.Payload[0], s.Payload[1] = c.sendBuf.view(0, n)
		f.synData, c.sndNxt = n, c.sendBufSeq.Add(n)
	}
}

// synDataAcknowledged processes the acknowledgment of a SYN with data by the SYN,ACK. Data
// that it does not acknowledge is sent at once, as if it had never been sent (section 4.2.2).
func (c *Conn) synDataAcknowledged(s *Segment) {
	f := c.fastOpen
	if f.mode != fastOpenSent {
		return
	}
	f.acked = min(s.Ack.Sub(c.sndUna), f.synData)
	if f.acked < f.synData {
		c.retransmittedSegments++
	}
	if f.acked > 0 {
		c.sendBuf.discard(f.acked, false, c.memory())
		c.sendBufSeq, c.sndUna = c.sendBufSeq.Add(f.acked), c.sndUna.Add(f.acked)
		c.ackedTotal += uint64(f.acked)
	}
	c.sndNxt = c.sndUna
	f.mss, f.cookie = int(s.Options.MSS), wire.FastOpenCookie{}
	if s.Options.HasFastOpen {
		f.cookie = s.Options.FastOpen
	}
}

// sendEarly sends data in SYN-RECEIVED, if Fast Open allows it: the congestion and send windows do
// too. A FIN waits for the end of the handshake, and nothing is retransmitted but the SYN,ACK.
func (c *Conn) sendEarly(emit Emit) {
	if !c.Accepted() {
		return
	}
	for c.unsentBytes() > 0 && c.sendNew(emit) {
	}
	c.updateCwndUsage()
	if c.cfg.NotSentLowat != 0 {
		c.notifyWritable()
	}
}

// FastOpenResult is what the handshake of a client has shown of the server's Fast Open.
type FastOpenResult struct {
	Cookie wire.FastOpenCookie // cookie that the server has granted; empty: none
	MSS    int                 // MSS that the server has announced; 0: none
	// the server has not answered the SYN with the option, or has refused it, or has not
	// acknowledged data in it and granted no other cookie (section 4.1.3.1)
	Negative bool
}

// TakeFastOpenResult returns once what a client has learnt, when the handshake is complete or has
// failed. ok is false if its SYN had no option of Fast Open.
func (c *Conn) TakeFastOpenResult() (r FastOpenResult, ok bool) {
	f := c.fastOpen
	if f == nil || f.mode != fastOpenSent {
		return r, false
	}
	f.mode = fastOpenLearnt
	if c.sndUna == c.iss { // the SYN is not acknowledged
		return FastOpenResult{Negative: c.cause != Aborted || c.synTransmits > 1}, true
	}
	return FastOpenResult{f.cookie, f.mss, c.synTransmits > 1 || f.acked < f.synData && f.cookie.Length == 0}, true
}

// synDataAcked returns how many bytes of data the SYN of either end carried, as far as the SYN,ACK
// has acknowledged them.
func (c *Conn) synDataAcked() int {
	if c.fastOpen == nil {
		return 0
	}
	return c.fastOpen.acked
}
