package tcpip

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// Conn is a TCP connection, a net.Conn. Errors are those of the net package: errors.Is knows
// ECONNREFUSED, ECONNRESET, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EPIPE, os.ErrDeadlineExceeded and
// net.ErrClosed, as of a connection of the kernel (errors_linux_test.go).
type Conn struct {
	// Immutable.
	s      *Stack
	lane   *lane
	iface  *iface
	key    tuple
	client netip.Addr // the client that opened it; zero: this host
	cfg    *tcp.Config
	send   tcp.Emit // c.emit, made once

	touched bool // the reader's: it answers when the batch is through
	posted  bool // guarded by the lane's posts

	timerAt    tcp.Time // guarded by the lane's timers
	timerIndex int

	mu        sync.Mutex
	tcp       *tcp.Conn
	listener  *Listener // until it is given to Accept, or to a session
	kept      bool      // room is kept for it there
	served    *served   // whose session it is; nil: the application's goroutines use it
	dst       wire.MAC
	known     bool     // dst is
	measureAt tcp.Time // when the path may take more than it did; 0: it takes what the link does
	cut       bool     // packets may be cut on the way: it takes less than is asked of a way
	lost      bool     // its address is another's
	service   uint8    // what the application says of the kind of service (RFC 2474)
	doubted   *doubt   // a smaller path that the network has told of; nil: none
	changes   uint32   // the interface's, when dst was found
	found     tcp.Time // when that was
	soft      error    // what the network said of the way, for when the connection times out
	closed    bool     // by the application
	gone      bool     // from the stack's tables
	resent    uint64   // segments sent again that are counted
	reader    waiter
	writer    waiter
}

// newConn makes a connection without its state.
func (s *Stack) newConn(l *lane, k tuple) *Conn {
	c := &Conn{s: s, lane: l, iface: l.iface, key: k, timerIndex: -1}
	c.cfg = l.iface.tcpConfig()
	c.send = c.emit
	return c
}

// arrive takes a segment that has come in its lane, in which it answers.
func (c *Conn) arrive(seg *tcp.Segment, now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil && !c.kept {
		c.finishing(seg, now)
		return
	}
	// it is settled before the batch is over: whoever a segment has come for answers
	c.tcp.ArriveLent(now, seg)
}

// astray takes a segment that has come in another lane than the connection's, and answers at once:
// what a lane does once a batch is through is that lane's alone.
func (c *Conn) astray(seg *tcp.Segment, now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil && !c.kept {
		c.finishing(seg, now)
	} else {
		c.tcp.Arrive(now, seg)
	}
	if c.session() {
		c.lane.post(c)
		return
	}
	c.flush(now)
}

// flush lets the connection send what is due, and tells the application what happened: then it says
// that it has. The caller holds mu.
func (c *Conn) flush(now tcp.Time) (told bool) {
	if c.measureAt != 0 && now >= c.measureAt {
		c.measure(now)
	}
	if c.doubted != nil {
		c.decide(now)
	}
	if c.known && (now.Sub(c.found) > believed || c.changes != c.iface.changes.Load()) {
		c.known = false
	}
	c.tcp.CopyLent()
	c.tcp.Output(now, c.send)
	if c.tcp.State() == tcp.TimeWait {
		w, _ := c.tcp.Retire()
		// before the table loses it: a segment finds the one or the other
		c.s.waits.add(c.key, c.cfg, w)
	}
	told = c.tell(c.tcp.Events())
	if n := c.tcp.RetransmittedSegments(); n != c.resent {
		c.lane.counts.resent.Add(n - c.resent)
		c.resent = n
	}
	if at := c.deadline(); at != 0 && !c.gone && c.lane.timers.set(c, at) {
		c.lane.rouse()
	}
	return told
}

// believed is how long a connection knows where its neighbour is; then it asks the table again,
// which asks the neighbour when it has to.
const believed = 15 * time.Second

// deadline is when tick is to be called; 0: never. The caller holds mu.
func (c *Conn) deadline() tcp.Time {
	at := c.tcp.Deadline()
	if v := c.served; v != nil && v.wakeAt != 0 && (at == 0 || v.wakeAt < at) {
		return v.wakeAt
	}
	return at
}

// tick runs the connection's timers, and says whether the application was told of something.
func (c *Conn) tick(now tcp.Time) (told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.tcp.Deadline(); at != 0 && at <= now {
		c.tcp.Tick(now)
	}
	return c.settle(now)
}

// answer has the connection do what is due, once a batch is through or somebody has posted it, and
// says whether the application was told of something. A session runs in the lane's reader alone:
// anybody else leaves it there.
func (c *Conn) answer(now tcp.Time, reader bool) (told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !reader && c.session() {
		c.tcp.CopyLent()
		c.lane.post(c)
		return false
	}
	return c.settle(now)
}

// session says whether the connection has a session, or may have one once it is open. The caller
// holds mu.
func (c *Conn) session() bool {
	return c.served != nil || c.listener != nil && c.listener.server != nil
}

// settle lets the session run, if there is one, and then sends what is due: an acknowledgment goes
// with the session's answer. The caller is the lane's reader, if there may be a session, and holds
// mu.
func (c *Conn) settle(now tcp.Time) (told bool) {
	if !c.session() {
		c.reader.got += c.tcp.Read(now, c.reader.into)
		c.reader.into = nil
		return c.flush(now)
	}
	if c.served != nil {
		c.served.turning = true
	}
	c.tell(c.tcp.Events())
	if c.served != nil {
		c.served.turn(now)
	}
	c.flush(now)
	return false
}

// accepted gives a connection that is open to Accept, or to a session, and says whether there is
// room. The caller holds mu.
func (c *Conn) accepted(l *Listener) bool {
	if l.server == nil {
		return l.offer(c)
	}
	if !l.server.take(c) {
		return false
	}
	if c.kept {
		c.kept = false
		l.leave(c.client) // it does not wait for Accept
	}
	return true
}

// tell wakes who waits for what happened, and says whether anything has. The caller holds mu.
func (c *Conn) tell(e tcp.Event) bool {
	if e == 0 {
		return false
	}
	if e&tcp.Starved != 0 {
		c.s.drops[DropMemory].Add(uint64(c.tcp.TakeStarved()))
	}
	if e&tcp.Connected != 0 && c.s.narrow.Load() != 0 {
		c.measure(c.s.now())
	}
	if e&(tcp.Readable|tcp.Ended) != 0 {
		c.reader.wake()
	}
	if e&(tcp.Writable|tcp.Connected|tcp.Ended) != 0 {
		c.writer.wake()
	}
	if l := c.listener; l != nil && e&(tcp.Connected|tcp.Ended) != 0 {
		c.listener = nil
		l.end()
		if e&tcp.Ended != 0 || !c.accepted(l) {
			if c.kept {
				l.leave(c.client)
			}
			c.tcp.Abort(c.s.now())
			c.closed = true
			e |= c.tcp.Events()
			c.tcp.Output(c.s.now(), c.send)
		}
	}
	if e&tcp.Ended != 0 {
		c.end()
	}
	if c.served != nil && !c.served.turning {
		c.lane.post(c)
	}
	return true
}

// end takes the connection out of the stack.
func (c *Conn) end() {
	if !c.gone {
		c.gone = true
		c.lane.timers.unset(c)
		c.s.conns.remove(c)
	}
	if c.closed {
		c.tcp.Release()
	}
}

// abort resets the connection: the stack closes.
func (c *Conn) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.s.now()
	c.tcp.Abort(now)
	c.flush(now)
}

// Explicit congestion notification in an IP header (RFC 3168, section 5).
const (
	ecnCapable = 2 // ECT(0)
	ecnMarked  = 3 // CE
)

// emit sends a segment. The caller holds mu.
func (c *Conn) emit(o *tcp.OutSegment) {
	out := outgoings.Get().(*outgoing)
	defer outgoings.Put(out)
	caps, p := &c.iface.caps, &out.Parts
	f := wire.TCPFields{Src: c.key.local, Dst: c.key.remote, Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Urgent: o.Urgent, Options: o.Options.Append(out.options[:0])}
	b := wire.AppendEthernet(out.head[:0], c.dst, caps.MAC, wire.TypeIPv4)
	tos := c.service
	if o.ECT {
		tos |= ecnCapable
	}
	var id uint16 // of what is not cut it means nothing
	if c.cut {
		id = c.s.id(c.key.local.Addr(), c.key.remote.Addr())
	}
	b = wire.AppendIPv4(b, &wire.IPv4Fields{TOS: tos, ID: id, TTL: c.s.cfg.TTL, DontFragment: !c.cut, Protocol: wire.TCPProtocol, Src: c.key.local.Addr(), Dst: c.key.remote.Addr(),
		Payload: wire.TCPHeader + len(f.Options) + o.Len()})
	*p = link.Parts{Body: o.Payload}
	if caps.Checksum {
		b = wire.AppendTCPPartial(b, &f, o.Len())
		p.Partial, p.Start, p.Offset, p.Size = true, wire.EthernetHeader+wire.IPv4Header, 16, o.SegmentSize
	} else {
		b = wire.AppendTCP(b, &f, o.Payload[0], o.Payload[1])
	}
	p.Head = b
	c.lane.counts.went[carriesTCP].Add(1)
	if (c.known || c.resolve(p)) && !c.lane.q.Write(p) {
		c.s.drops.add(DropDevice)
	}
}

// resolve finds out where to send to; what is to be sent waits meanwhile.
func (c *Conn) resolve(p *link.Parts) bool {
	_, hop, _, ok := c.s.way(c.key.remote.Addr())
	if !ok {
		c.s.drops.add(DropRoute)
		return false
	}
	c.changes, c.found = c.iface.changes.Load(), c.s.now()
	if c.dst, c.known = c.iface.resolve(c.lane, hop, !c.client.IsValid() || hop != c.key.remote.Addr(), p); c.known {
		copy(p.Head, c.dst[:])
	}
	return c.known
}

// failure is why the connection ended; io.EOF if it ended in good order. The caller holds mu.
func (c *Conn) failure() error {
	switch cause := c.tcp.Cause(); {
	case c.lost:
		return syscall.ECONNABORTED
	case cause == tcp.Refused:
		return syscall.ECONNREFUSED
	case cause == tcp.Reset:
		return syscall.ECONNRESET
	case c.soft != nil && (cause == tcp.TimedOut || cause == tcp.Unreachable):
		return c.soft
	case cause == tcp.TimedOut:
		return syscall.ETIMEDOUT
	case cause == tcp.Unreachable:
		return syscall.EHOSTUNREACH
	case cause == tcp.Aborted:
		return net.ErrClosed
	}
	return io.EOF
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reader.busy.Lock()
	defer c.reader.busy.Unlock()
	for {
		n, deadline, err := c.tryRead(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, c.wrap("read", err)
		}
		c.reader.wait(deadline)
	}
}

func (c *Conn) tryRead(p []byte) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, c.reader.got, c.reader.into = c.reader.got, 0, nil; n > 0 {
		return n, deadline, nil
	}
	deadline = c.reader.deadline
	if err = c.reader.refusal(c.closed); err != nil {
		return 0, deadline, err
	}
	now := c.s.now()
	if n = c.tcp.Read(now, p); n > 0 {
		if c.tcp.Pending() {
			c.flush(now)
		}
		return n, deadline, nil
	}
	if c.tcp.AtEnd() {
		if c.tcp.PeerFinished() { // in good order, whatever came behind that
			return 0, deadline, io.EOF
		}
		return 0, deadline, c.failure()
	}
	c.reader.into = p
	c.reader.arm()
	return 0, deadline, nil
}

// Write implements net.Conn. It returns when all is in the connection's buffer: how much of it the
// peer has got is not known then.
func (c *Conn) Write(p []byte) (int, error) {
	c.writer.busy.Lock()
	defer c.writer.busy.Unlock()
	for written := 0; ; {
		n, deadline, err := c.tryWrite(p[written:])
		written += n
		if err != nil || written == len(p) {
			return written, c.wrap("write", err)
		}
		c.writer.wait(deadline)
	}
}

func (c *Conn) tryWrite(p []byte) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline = c.writer.deadline
	if err = c.writer.refusal(c.closed); err != nil {
		return 0, deadline, err
	}
	if c.tcp.State() == tcp.Closed || c.tcp.WriteClosed() {
		// as Linux
		if err = c.failure(); err == io.EOF || err == syscall.ECONNRESET && c.tcp.PeerFinished() {
			err = syscall.EPIPE
		}
		return 0, deadline, err
	}
	now := c.s.now()
	if n = c.tcp.Write(now, p); n > 0 || c.tcp.WaitingForMemory() {
		c.flush(now)
	}
	if n < len(p) {
		c.writer.arm()
	}
	return n, deadline, nil
}

// CloseWrite ends what is sent; reading goes on.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.wrap("close", net.ErrClosed)
	}
	now := c.s.now()
	c.tcp.CloseWrite(now)
	c.flush(now)
	c.writer.wake()
	return nil
}

// Close implements net.Conn. What was written is still sent; when something was received that
// nobody has read, the peer is told by a reset (RFC 2525, section 2.17).
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.wrap("close", net.ErrClosed)
	}
	now := c.s.now()
	c.leave(now)
	c.flush(now)
	c.reader.wake()
	c.writer.wake()
	return nil
}

// leave ends both directions: nobody reads or writes any more. The caller holds mu, and lets the
// connection send.
func (c *Conn) leave(now tcp.Time) {
	c.closed = true
	switch {
	case c.tcp.State() == tcp.Closed:
		c.tcp.Release()
	case c.tcp.Buffered() > 0 || c.tcp.State() == tcp.SynSent:
		c.tcp.Abort(now)
	default:
		c.tcp.Orphan(now)
	}
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.key.local) }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.key.remote) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadline(t, &c.reader, &c.writer) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, &c.reader) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, &c.writer) }

func (c *Conn) setDeadline(t time.Time, ws ...*waiter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &net.OpError{Op: "set", Net: "tcp", Addr: c.LocalAddr(), Err: net.ErrClosed}
	}
	for _, w := range ws {
		w.deadline = t
		w.wake()
	}
	return nil
}
