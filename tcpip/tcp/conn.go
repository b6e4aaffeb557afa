package tcp

import (
	"time"

	"weir/wire"
)

// Config says how a connection is to be. The zero value of a field gives its default. It is shared
// by connections, and not changed.
type Config struct {
	// largest payload of a segment that the link takes, with no options. Default 1460
	MSS int
	// largest payload of a Sending, which a device cuts; below MSS: one segment each. Default 0
	Superframe        int
	SendBuffer        BufferRange // of the buffer of what is to be sent, in bytes. Default 64 KiB to 4 MiB
	ReceiveBuffer     BufferRange // of the buffer of what has come. Default 128 KiB to 6 MiB
	Memory            Memory
	CongestionControl Algorithm
	ECN               ECN
	NoTimestamps      bool // timestamps (RFC 7323) are neither offered nor taken
	NoWindowScaling   bool // likewise window scaling
	NoSACK            bool // likewise selective acknowledgments (RFC 2018)
	// times a SYN is sent again; its answer is so at most six times. Default 7: four minutes
	SYNRetries  int
	UserTimeout time.Duration // how long data may stay without acknowledgment. Default 15 min
	// the peer is told of UserTimeout, and its own counts if it is longer (RFC 5482)
	AdvertiseUserTimeout bool
	TimeWaitDuration     time.Duration // of TIME-WAIT. Default 60 s
	KeepAliveIdle        time.Duration // 0: no keep-alive
	KeepAliveInterval    time.Duration // between probes. Default 75 s
	KeepAliveCount       int           // Default 9
}

// Range is the bounds of a buffer that tunes itself.
type BufferRange struct{ Initial, Max int }

// WithDefaults fills in what is zero.
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
	events Event
	now    Time // of the call under way

	outSegment   OutSegment    // what Emit is called with
	timeWaitConn *TimeWaitConn // in TIME-WAIT

	sender
	receiver
	urgent urgent
	ecn    ecnState

	peerUserTimeout    time.Duration // the peer's user timeout; 0: none counts
	userTimeoutSet     bool          // the application has said how long the user timeout is
	userTimeoutPending bool          // the peer is to be told
	options
	timers
}

// options are what both ends agreed on in their SYNs.
type options struct {
	timestamps    bool           // timestamps are sent with every segment
	tsRecent      wire.Timestamp // TS.Recent
	tsRecentAt    Time           // when it was taken
	tsOffset      uint32         // our timestamps' begin
	sackPermitted bool
	mss           int // largest payload, with no options
	linkMSS       int // what both links take of that, whatever the path does
}

// Dial is a connection that opens actively: its SYN is the next Output. iss is the initial sequence
// number, skew where its timestamps begin (RFC 7323, section 5.4): both are to be hard to guess.
func Dial(cfg *Config, iss wire.Seq, skew uint32) *Conn {
	c := newConn(cfg, iss, skew)
	c.state = SynSent
	c.timestamps, c.sackPermitted = !cfg.NoTimestamps, !cfg.NoSACK
	c.synPending = true
	return c
}

// Accept is a connection that answers a SYN.
func Accept(cfg *Config, iss wire.Seq, skew uint32, syn *Segment, now Time) *Conn {
	c := newConn(cfg, iss, skew)
	c.setNow(now)
	c.state = SynReceived
	c.passiveOpen = true
	c.applySYN(syn)
	c.synPending = true
	return c
}

func newConn(cfg *Config, iss wire.Seq, skew uint32) *Conn {
	c := &Conn{cfg: cfg}
	c.iss, c.sndUna, c.sndNxt, c.sendBufSeq = iss, iss, iss.Add(1), iss.Add(1)
	c.lastSmallEnd, c.flushBefore, c.cwndUsage.roundEnd, c.recoveryPoint, c.roundEnd, c.fack, c.rack.endSeq = iss, iss, iss, iss, iss, iss, iss
	c.tsOffset = skew
	c.mss = min(536, cfg.MSS)
	c.recvLimit = cfg.ReceiveBuffer.Initial
	c.estimator = newEstimator()
	c.quickACKs = maxQuickACKs
	if !cfg.NoWindowScaling {
		c.rcvScale = scaleFor(cfg)
	}
	return c
}

// scaleFor is the window scale that the largest buffer needs.
func scaleFor(cfg *Config) (scale uint8) {
	for scale < 14 && 65535<<scale < cfg.ReceiveBuffer.Max {
		scale++
	}
	return scale
}

// agree takes over what a SYN says.
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
	c.sndWnd = int(syn.Window) // of a SYN it is never scaled
	c.maxSndWnd = c.sndWnd
	c.sndWL1, c.sndWL2 = syn.Seq, c.sndUna
	c.mss = min(int(max(o.MSS, 1)), c.cfg.MSS)
	if o.MSS == 0 {
		c.mss = min(536, c.cfg.MSS)
	}
	c.mss = max(c.mss, minPeerMSS)
	c.linkMSS = c.mss
	c.cwnd = newCongestionWindow(c.maxPayload())
	c.congestion = newCongestionControl(c.cfg.CongestionControl)
}

// leastMSS is the smallest segment that a peer may ask for: smaller ones are an attack on our
// processor.
const minPeerMSS = 88

func newCongestionControl(a Algorithm) congestionControl {
	if a == Reno {
		return &reno{}
	}
	return &cubic{}
}

// payload is how much a segment carries beside the options that all have.
func (o *options) maxPayload() int {
	if o.timestamps {
		return o.mss - 12
	}
	return o.mss
}

// at is the time of a call. Goroutines that take turns may have looked at the clock in another
// order: the connection's time does not go back all the same, since to the peer a segment with an
// earlier timestamp is an old one.
func (c *Conn) setNow(now Time) { c.now = max(c.now, now) }

// State is the connection's.
func (c *Conn) State() State { return c.state }

// Cause is why it ended before its time, if it did.
func (c *Conn) Cause() Cause { return c.cause }

// Events are what happened since this was last called.
func (c *Conn) Events() Event {
	e := c.events
	c.events = 0
	return e
}

// fail ends the connection.
func (c *Conn) fail(cause Cause) {
	if c.state == Closed {
		return
	}
	c.cause = cause
	c.finish()
}

// finish makes it CLOSED. What has come can still be read.
func (c *Conn) finish() {
	c.state = Closed
	c.timers = timers{}
	c.sendBuf.free(c.cfg.Memory)
	c.flight = flight{}
	c.ackPending, c.synPending = false, false
	c.events |= Ended | Readable | Writable | Connected
}

// Release gives back all buffers: nobody will read any more. The connection is CLOSED.
func (c *Conn) Release() {
	c.recvBuf.free(c.cfg.Memory)
	c.sendBuf.free(c.cfg.Memory)
	c.outOfOrder = rangeSet{}
}

// stamp is our clock for timestamps: milliseconds, as Linux has them.
func (c *Conn) tsNow() wire.Timestamp { return wire.Timestamp(uint32(c.now/1e6) + c.tsOffset) }
