package tcp

import (
	"time"

	"weir/wire"
)

// Config configures a connection. A zero field selects its default. Connections share a Config, and
// nothing may change it while one uses it.
type Config struct {
	// MSS is the largest payload of a segment, without options, that the link takes. Default 1460.
	MSS int
	// Superframe is the largest payload of an OutSegment that the device splits (TSO). Below MSS,
	// each OutSegment is one segment of the wire. Default 0.
	Superframe int
	// SendBuffer bounds the buffer of unsent and unacknowledged data, in bytes.
	// Default 64 KiB to 4 MiB.
	SendBuffer BufferRange
	// ReceiveBuffer bounds the buffer of received data, in bytes. Default 128 KiB to 6 MiB.
	ReceiveBuffer BufferRange
	// NotSentLowat limits how much data is in the send buffer and was never sent, in bytes
	// (TCP_NOTSENT_LOWAT). A small value keeps what is sent up to date; the send buffer still holds
	// what is in flight. 0: only SendBuffer limits it.
	NotSentLowat      int
	Memory            Memory // allocates the buffers. Default: Go's heap, without a limit
	HeavyMemory       Memory // of connections whose client has many: see SetHeavy. Default: Memory
	CongestionControl Algorithm
	// MTUProbing is when the connection probes for the path MTU itself. Default ProbeOnBlackHole,
	// which does nothing until large segments have timed out three times.
	MTUProbing      MTUProbing
	ECN             ECN
	NoTimestamps    bool // do not use timestamps (RFC 7323, section 3)
	NoWindowScaling bool // do not use window scaling (RFC 7323, section 2)
	NoSACK          bool // do not use selective acknowledgments (RFC 2018)
	// SYNRetries is how often a SYN is retransmitted. A SYN,ACK is retransmitted at most six times.
	// Default 7, which takes four minutes.
	SYNRetries int
	// UserTimeout is how long data may remain unacknowledged. Default 15 minutes.
	UserTimeout time.Duration
	// AdvertiseUserTimeout sends UserTimeout to the peer and adopts the peer's if that is longer
	// (RFC 5482).
	AdvertiseUserTimeout bool
	TimeWaitDuration     time.Duration // how long TIME-WAIT lasts. Default 60 s
	KeepAliveIdle        time.Duration // idle time before the first probe; 0: no keep-alive
	KeepAliveInterval    time.Duration // between keep-alive probes. Default 75 s
	KeepAliveCount       int           // unanswered probes that end the connection. Default 9
}

// BufferRange bounds the size of a buffer that tunes itself, in bytes.
type BufferRange struct{ Initial, Max int }

// WithDefaults returns the configuration with each zero field replaced by its default.
func (c Config) WithDefaults() Config {
	setDefault(&c.MSS, 1460)
	setDefault(&c.SendBuffer, BufferRange{64 << 10, 4 << 20})
	setDefault(&c.ReceiveBuffer, BufferRange{128 << 10, 6 << 20})
	setDefault(&c.SYNRetries, 7)
	setDefault(&c.UserTimeout, 15*time.Minute)
	setDefault(&c.TimeWaitDuration, time.Minute)
	setDefault(&c.KeepAliveInterval, 75*time.Second)
	setDefault(&c.KeepAliveCount, 9)
	if c.Memory == nil {
		c.Memory = heapMemory{}
	}
	if c.HeavyMemory == nil {
		c.HeavyMemory = c.Memory
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Conn is one end of a connection. It has one owner at a time.
type Conn struct {
	cfg    *Config
	state  State
	cause  Cause
	events Event // not yet returned by Events
	now    Time  // time of the current or latest call

	held         bool          // Hold was called
	heldBack     bool          // Output has not sent all that it would have sent without Hold
	outSegment   OutSegment    // passed to Emit; reused so that sending does not allocate
	timeWaitConn *TimeWaitConn // set in TIME-WAIT

	sender
	receiver
	urgent   urgent
	ecn      ecnState
	fastOpen *fastOpen // nil: without Fast Open

	peerUserTimeout    time.Duration // user timeout adopted from the peer (RFC 5482); 0: none
	userTimeoutSet     bool          // the application called SetUserTimeout
	userTimeoutPending bool          // a user timeout option must be sent
	options
	timers
}

// options are the TCP options that both ends agreed on in their SYNs.
type options struct {
	timestamps    bool           // every segment carries timestamps (RFC 7323)
	tsRecent      wire.Timestamp // TS.Recent: the peer's latest timestamp
	tsRecentAt    Time           // when tsRecent was stored
	tsOffset      uint32         // added to the clock for the timestamps that this end sends
	sackPermitted bool
	mss           int // largest payload, without options, that the path takes
	linkMSS       int // the smaller of both ends' MSS options: the maximum of mss
}

// Dial creates a connection by active open; the next Output sends its SYN. iss is the initial
// sequence number; tsOffset is added to its timestamps (RFC 7323, section 5.4). An attacker must
// not be able to predict either.
func Dial(cfg *Config, iss wire.Seq, tsOffset uint32) *Conn {
	c := newConn(cfg, iss, tsOffset)
	c.state = SynSent
	c.timestamps, c.sackPermitted = !cfg.NoTimestamps, !cfg.NoSACK
	c.synPending = true
	return c
}

// Accept creates a connection by passive open, from a SYN that arrived; the next Output sends its
// SYN,ACK.
func Accept(cfg *Config, iss wire.Seq, tsOffset uint32, syn *Segment, now Time) *Conn {
	c := newConn(cfg, iss, tsOffset)
	c.setNow(now)
	c.state = SynReceived
	c.passiveOpen = true
	c.applySYN(syn)
	c.synPending = true
	return c
}

func newConn(cfg *Config, iss wire.Seq, tsOffset uint32) *Conn {
	c := &Conn{cfg: cfg}
	c.iss, c.sndUna, c.sndNxt, c.sendBufSeq = iss, iss, iss.Add(1), iss.Add(1)
	c.lastSmallEnd, c.flushBefore, c.cwndUsage.roundEnd, c.recoveryPoint, c.roundEnd, c.fack, c.rack.endSeq = iss, iss, iss, iss, iss, iss, iss
	c.tsOffset = tsOffset
	c.mss = min(536, cfg.MSS)
	c.recvLimit = cfg.ReceiveBuffer.Initial
	c.estimator = newEstimator()
	c.quickACKs = maxQuickACKs
	if !cfg.NoWindowScaling {
		c.rcvScale = scaleFor(cfg)
	}
	return c
}

// scaleFor returns the smallest window scale that can express the largest receive buffer.
func scaleFor(cfg *Config) (scale uint8) {
	for scale < 14 && 65535<<scale < cfg.ReceiveBuffer.Max {
		scale++
	}
	return scale
}

// applySYN takes the peer's sequence number, options and window from its SYN.
func (c *Conn) applySYN(syn *Segment) {
	o := &syn.Options
	c.irs, c.rcvNxt = syn.Seq, syn.Seq.Add(1)
	c.rcvWndEdge = c.rcvNxt
	c.timestamps = o.HasTimestamps && !c.cfg.NoTimestamps
	c.sackPermitted = o.SACKPermitted && !c.cfg.NoSACK
	if c.timestamps {
		c.tsRecent, c.tsRecentAt = o.TSVal, c.now
	}
	if o.HasWindowScale && !c.cfg.NoWindowScaling {
		c.sndScale = o.WindowScale
	} else {
		c.rcvScale = 0
	}
	c.negotiateECN(syn)
	c.adoptPeerUserTimeout(o.UserTimeout)
	c.sndWnd = int(syn.Window) // the window of a SYN is never scaled (RFC 7323, section 2.2)
	c.maxSndWnd = c.sndWnd
	c.sndWL1, c.sndWL2 = syn.Seq, c.sndUna
	c.mss = min(int(max(o.MSS, 1)), c.cfg.MSS)
	if o.MSS == 0 {
		c.mss = min(536, c.cfg.MSS)
	}
	c.mss = max(c.mss, minPeerMSS)
	c.linkMSS = c.mss
	c.startSearching()
	c.cwnd = newCongestionWindow(c.maxPayload())
	c.congestion = newCongestionControl(c.cfg.CongestionControl)
}

// minPeerMSS is the smallest MSS accepted from a peer. Smaller segments would serve to exhaust the
// CPU.
const minPeerMSS = 88

// newCongestionControl returns the state of a congestion control algorithm.
func newCongestionControl(a Algorithm) congestionControl {
	if a == Reno {
		return &reno{}
	}
	return &cubic{}
}

// maxPayload is the payload of a full segment: the MSS less the options that every segment carries.
func (o *options) maxPayload() int {
	if o.timestamps {
		return o.mss - 12
	}
	return o.mss
}

// setNow sets the time of a call. Goroutines that take turns can read the clock in one order and
// call in another, so it never goes back: the peer would drop a segment with an earlier timestamp
// (PAWS).
func (c *Conn) setNow(now Time) { c.now = max(c.now, now) }

// State returns the state of the connection.
func (c *Conn) State() State { return c.state }

// Cause returns why the connection ended early; NoCause if it did not.
func (c *Conn) Cause() Cause { return c.cause }

// Events returns the events since the last call, and clears them.
func (c *Conn) Events() Event {
	e := c.events
	c.events = 0
	return e
}

// fail ends the connection for a cause.
func (c *Conn) fail(cause Cause) {
	if c.state == Closed {
		return
	}
	c.cause = cause
	c.finish()
}

// finish enters CLOSED. The application can still read what was received.
func (c *Conn) finish() {
	c.unacknowledged = c.unacknowledgedBytes()
	c.state = Closed
	c.timers = timers{}
	c.sendBuf.free(c.memory())
	c.flight, c.search = flight{}, nil
	c.ackPending, c.synPending = false, false
	c.events |= Ended | Readable | Writable | Connected
}

// Release frees all buffers when the application will not read any more. The connection must be
// CLOSED.
func (c *Conn) Release() {
	c.recvBuf.free(c.memory())
	c.sendBuf.free(c.memory())
	c.outOfOrder = rangeSet{}
}

// tsNow is the timestamp clock: milliseconds, as in Linux.
func (c *Conn) tsNow() wire.Timestamp { return wire.Timestamp(uint32(c.now/1e6) + c.tsOffset) }
