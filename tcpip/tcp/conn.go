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
	Superframe int
	Send       Range // of the buffer of what is to be sent, in bytes. Default 64 KiB to 4 MiB
	Receive    Range // of the buffer of what has come. Default 128 KiB to 6 MiB
	Memory     Memory
	Congestion Algorithm
	ECN        ECN
	NoStamps   bool // timestamps (RFC 7323) are neither offered nor taken
	NoScale    bool // likewise window scaling
	NoSACK     bool // likewise selective acknowledgments (RFC 2018)
	// times a SYN is sent again; its answer is so at most six times. Default 7: four minutes
	Tries       int
	UserTimeout time.Duration // how long data may stay without acknowledgment. Default 15 min
	// the peer is told of UserTimeout, and its own counts if it is longer (RFC 5482)
	TellTimeout bool
	WaitTime    time.Duration // of TIME-WAIT. Default 60 s
	KeepIdle    time.Duration // 0: no keep-alive
	KeepEvery   time.Duration // between probes. Default 75 s
	KeepTries   int           // Default 9
}

// Range is the bounds of a buffer that tunes itself.
type Range struct{ First, Most int }

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	setDefault(&c.MSS, 1460)
	setDefault(&c.Send, Range{64 << 10, 4 << 20})
	setDefault(&c.Receive, Range{128 << 10, 6 << 20})
	setDefault(&c.Tries, 7)
	setDefault(&c.UserTimeout, 15*time.Minute)
	setDefault(&c.WaitTime, time.Minute)
	setDefault(&c.KeepEvery, 75*time.Second)
	setDefault(&c.KeepTries, 9)
	if c.Memory == nil {
		c.Memory = plain{}
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

	sending Sending // what Emit is called with
	wait    *Wait   // in TIME-WAIT

	sender
	receiver
	urgent urgent
	notice notice

	patience   time.Duration // the peer's user timeout; 0: none counts
	timeoutSet bool          // the application has said how long the user timeout is
	timeoutDue bool          // the peer is to be told
	options
	timers
}

// options are what both ends agreed on in their SYNs.
type options struct {
	stamps bool       // timestamps are sent with every segment
	recent wire.Stamp // TS.Recent
	seenAt Time       // when it was taken
	skew   uint32     // our timestamps' begin
	sack   bool
	mss    int // largest payload, with no options
	agreed int // what both links take of that, whatever the path does
}

// Dial is a connection that opens actively: its SYN is the next Output. iss is the initial sequence
// number, skew where its timestamps begin (RFC 7323, section 5.4): both are to be hard to guess.
func Dial(cfg *Config, iss wire.Seq, skew uint32) *Conn {
	c := newConn(cfg, iss, skew)
	c.state = SynSent
	c.stamps, c.sack = !cfg.NoStamps, !cfg.NoSACK
	c.synDue = true
	return c
}

// Accept is a connection that answers a SYN.
func Accept(cfg *Config, iss wire.Seq, skew uint32, syn *Segment, now Time) *Conn {
	c := newConn(cfg, iss, skew)
	c.at(now)
	c.state = SynReceived
	c.passive = true
	c.agree(syn)
	c.synDue = true
	return c
}

func newConn(cfg *Config, iss wire.Seq, skew uint32) *Conn {
	c := &Conn{cfg: cfg}
	c.iss, c.una, c.nxt, c.outSeq = iss, iss, iss.Add(1), iss.Add(1)
	c.small, c.pushTo, c.usage.end, c.point, c.roundEnd, c.fack, c.rack.end = iss, iss, iss, iss, iss, iss, iss
	c.skew = skew
	c.mss = min(536, cfg.MSS)
	c.limit = cfg.Receive.First
	c.estimator = newEstimator()
	c.quick = quickMost
	if !cfg.NoScale {
		c.scale = scaleFor(cfg)
	}
	return c
}

// scaleFor is the window scale that the largest buffer needs.
func scaleFor(cfg *Config) (scale uint8) {
	for scale < 14 && 65535<<scale < cfg.Receive.Most {
		scale++
	}
	return scale
}

// agree takes over what a SYN says.
func (c *Conn) agree(syn *Segment) {
	o := &syn.Options
	c.irs, c.rcv = syn.Seq, syn.Seq.Add(1)
	c.advertised = c.rcv
	c.stamps = o.Stamped && !c.cfg.NoStamps
	c.sack = o.SACKPermitted && !c.cfg.NoSACK
	if c.stamps {
		c.recent, c.seenAt = o.Stamp, c.now
	}
	if o.Scaled && !c.cfg.NoScale {
		c.peerScale = o.Scale
	} else {
		c.scale = 0
	}
	c.notify(syn)
	c.toldTimeout(o.UserTimeout)
	c.wnd = int(syn.Window) // of a SYN it is never scaled
	c.maxWnd = c.wnd
	c.wl1, c.wl2 = syn.Seq, c.una
	c.mss = min(int(max(o.MSS, 1)), c.cfg.MSS)
	if o.MSS == 0 {
		c.mss = min(536, c.cfg.MSS)
	}
	c.mss = max(c.mss, leastMSS)
	c.agreed = c.mss
	c.cwnd = newWindow(c.payload())
	c.control = newControl(c.cfg.Congestion)
}

// leastMSS is the smallest segment that a peer may ask for: smaller ones are an attack on our
// processor.
const leastMSS = 88

func newControl(a Algorithm) control {
	if a == Reno {
		return &reno{}
	}
	return &cubic{}
}

// payload is how much a segment carries beside the options that all have.
func (o *options) payload() int {
	if o.stamps {
		return o.mss - 12
	}
	return o.mss
}

// at is the time of a call. Goroutines that take turns may have looked at the clock in another
// order: the connection's time does not go back all the same, since to the peer a segment with an
// earlier timestamp is an old one.
func (c *Conn) at(now Time) { c.now = max(c.now, now) }

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
	c.out.free(c.cfg.Memory)
	c.flight = flight{}
	c.ackNow, c.synDue = false, false
	c.events |= Ended | Readable | Writable | Connected
}

// Release gives back all buffers: nobody will read any more. The connection is CLOSED.
func (c *Conn) Release() {
	c.in.free(c.cfg.Memory)
	c.out.free(c.cfg.Memory)
	c.gaps = ranges{}
}

// stamp is our clock for timestamps: milliseconds, as Linux has them.
func (c *Conn) stamp() wire.Stamp { return wire.Stamp(uint32(c.now/1e6) + c.skew) }
