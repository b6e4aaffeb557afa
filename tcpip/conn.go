package tcpip

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/tcpip/tcp"
	"weir/wire"
)

// Conn is a TCP connection: a net.Conn. Its errors match those of a kernel connection in package
// net. errors.Is finds ECONNREFUSED, ECONNRESET, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EPIPE,
// os.ErrDeadlineExceeded and net.ErrClosed (errors_linux_test.go).
type Conn struct {
	// Immutable.
	s           *Stack
	reader      *reader
	iface       *iface
	key         tuple
	client      netip.Addr // address of the client that opened it; zero: this host
	cfg         *tcp.Config
	emitSegment tcp.Emit // the method value c.emitLocked, allocated once

	answerPending bool // is in reader.toAnswer; used by the goroutine that has the batch
	wakeQueued    bool // is in the reader's wakeQueue, whose lock guards it
	awaitsRoom    bool // is in the reader's pushBack, whose lock guards it

	timerAt    tcp.Time // its key in the reader's timer heap, whose lock guards both fields
	timerIndex int

	mu  sync.Mutex
	tcp *tcp.Conn
	// the listener of a connection in its handshake; nil once Accept or a session has it
	listener *Listener
	// the listener of a connection that the application has before its handshake is complete
	earlyListener  *Listener
	acceptReserved bool          // the listener has reserved a place in acceptQueue for it
	session        sessionRunner // its session; nil: goroutines of the application use it
	// The reader's goroutine runs the session, or is about to: queueConn is not needed.
	turnPending bool
	dstMAC      wire.MAC
	dstKnown    bool     // dstMAC is valid
	pathCheckAt tcp.Time // when to check the path MTU again; 0: the path MTU is the link's
	// packets are sent without DF: the path MTU is below the minimum that may be assumed
	fragmentable   bool
	addrOrLinkLost bool        // another host has taken its address, or its link has closed
	flowLabel      uint32      // of IPv6 packets (RFC 6437)
	tos            uint8       // DSCP bits of the TOS octet that the application has set (RFC 2474)
	pendingPTB     *pendingPTB // a Packet Too Big that is not validated yet; nil: none
	neighChanges   uint32      // iface.neighChanges when dstMAC was looked up
	dstFoundAt     tcp.Time    // when dstMAC was looked up
	// The error that the application gets if the connection times out or ends as unreachable. It is
	// from the last ICMP error (RFC 1122, section 4.2.3.9), or from ARP. nil: neither occurred.
	unreachableErr     error
	readClosed         bool   // CloseRead was called
	closedByApp        bool   // Close was called, or the session has ended
	removed            bool   // removed from the connection table
	retransmitsCounted uint64 // retransmissions that reader.counts already has
	readWaiter         waiter
	writeWaiter        waiter
	ready              *readySource // its entry in a ReadyQueue; nil: none
}

// newConn makes a connection. The caller sets its TCP state by initState.
func (s *Stack) newConn(l *reader, k tuple) *Conn {
	c := &Conn{s: s, reader: l, iface: l.iface, key: k, timerIndex: -1}
	c.cfg = l.iface.tcpConfig(k.remote.Addr())
	c.emitSegment = c.emitLocked
	if k.remote.Addr().Is6() {
		c.flowLabel = 1 + s.random.Uint32N(1<<20-1)
	}
	return c
}

// receiveSegment processes a segment that its own reader has read. The connection answers when the
// batch is finished.
func (c *Conn) receiveSegment(seg *tcp.Segment, now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil && !c.acceptReserved {
		c.finishHandshakeLocked(seg, now)
		return
	}
	// the segment's bytes may be used without a copy: the connection answers before the batch ends
	c.tcp.ArriveLent(now, seg)
}

// receiveFromOtherReader processes a segment that another reader has read, and answers at once. It
// cannot wait for the end of the batch, because only its own reader runs a connection then.
func (c *Conn) receiveFromOtherReader(seg *tcp.Segment, now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil && !c.acceptReserved {
		c.finishHandshakeLocked(seg, now)
	} else {
		c.tcp.Arrive(now, seg)
	}
	if c.hasSessionLocked() {
		c.reader.queueConn(c)
		return
	}
	c.flushLocked(now)
}

// flushLocked sends what is due, notifies the application of events, and schedules the timer. It
// reports whether there were events. The caller holds mu.
func (c *Conn) flushLocked(now tcp.Time) (notified bool) {
	if c.pathCheckAt != 0 && now >= c.pathCheckAt {
		c.updatePathMTULocked(now)
	}
	if c.pendingPTB != nil {
		c.validatePTBLocked(now)
	}
	if c.dstKnown && (now.Sub(c.dstFoundAt) > neighbourCacheTime || c.neighChanges != c.iface.neighChanges.Load()) {
		c.dstKnown = false
	}
	c.tcp.CopyLent()
	c.outputLocked(now)
	if c.tcp.State() == tcp.TimeWait {
		w, _ := c.tcp.Retire()
		// added before the connection table loses it, so that every segment finds one or the other
		c.s.timeWaits.add(c.key, c.cfg, w)
	}
	notified = c.notifyLocked(c.tcp.Events())
	if n := c.tcp.RetransmittedSegments(); n != c.retransmitsCounted {
		c.reader.counts.retransmitted.Add(n - c.retransmitsCounted)
		c.retransmitsCounted = n
	}
	if at := c.nextTimerLocked(); at != 0 && !c.removed && c.reader.timers.schedule(c, at) {
		c.reader.wakeIfAsleep()
	}
	return notified
}

// neighbourCacheTime is how long a connection uses a hardware address. Then it looks it up in the
// neighbour table again, which probes the neighbour when necessary.
const neighbourCacheTime = 15 * time.Second

// nextTimerLocked returns when runTimers is due; 0: never. The caller holds mu.
func (c *Conn) nextTimerLocked() tcp.Time {
	at := c.tcp.Deadline()
	if c.session != nil {
		if wake := c.session.nextTimer(); wake != 0 && (at == 0 || wake < at) {
			return wake
		}
	}
	return at
}

// runTimers runs the connection's expired timers, and reports whether the application was notified.
func (c *Conn) runTimers(now tcp.Time) (notified bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.tcp.Deadline(); at != 0 && at <= now {
		c.tcp.Tick(now)
	}
	return c.runAndFlushLocked(now)
}

// answer sends what is due when a batch is finished or after queueConn. It reports whether the
// application was notified. Only the connection's reader runs a session: with inReader false,
// answer queues the connection for the reader.
func (c *Conn) answer(now tcp.Time, inReader bool) (notified bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !inReader && c.hasSessionLocked() {
		c.tcp.CopyLent()
		c.reader.queueConn(c)
		return false
	}
	return c.runAndFlushLocked(now)
}

// hasSessionLocked reports whether the connection has a session, or will have one once its
// handshake is complete. The caller holds mu.
func (c *Conn) hasSessionLocked() bool {
	return c.session != nil || c.listener != nil && c.listener.server != nil
}

// runAndFlushLocked runs the session, if there is one, and then sends what is due: the
// acknowledgment is piggybacked on the session's output. It reports whether the application was
// notified. A connection with a session requires that its reader calls. The caller holds mu.
func (c *Conn) runAndFlushLocked(now tcp.Time) (notified bool) {
	if !c.hasSessionLocked() {
		c.readWaiter.readCount += c.tcp.Read(now, c.readWaiter.readBuf)
		c.readWaiter.readBuf = nil
		return c.flushLocked(now)
	}
	c.turnPending = c.session != nil
	c.notifyLocked(c.tcp.Events())
	if c.session != nil {
		c.session.runLocked(now)
	}
	c.flushLocked(now)
	return false
}

// handOverLocked gives an established connection to Accept or to a session. It reports whether the
// listener and the server are still open. The caller holds mu.
func (c *Conn) handOverLocked(l *Listener) bool {
	if l.server == nil {
		return l.enqueue(c)
	}
	if !l.server.startSessionLocked(c) {
		return false
	}
	if c.acceptReserved {
		c.acceptReserved = false
		l.release(c.client) // a session takes no place in acceptQueue
	}
	return true
}

// notifyLocked wakes the calls that wait for the events e, and reports whether e has any. The
// caller holds mu.
func (c *Conn) notifyLocked(e tcp.Event) bool {
	if e == 0 {
		return false
	}
	if e&tcp.Starved != 0 {
		c.s.drops[DropMemory].Add(uint64(c.tcp.TakeStarved()))
	}
	if e&tcp.Connected != 0 { // or Ended
		now := c.s.now()
		c.learnFastOpenLocked(now)
		c.endEarlyLocked(now)
		c.applyPathMTULocked(now)
	}
	if c.readClosed && e&tcp.Readable != 0 {
		c.discardLocked(c.s.now())
	}
	if c.ready != nil {
		c.ready.mark(readinessOf(e))
	}
	if e&(tcp.Readable|tcp.Ended) != 0 {
		c.readWaiter.wake()
	}
	if e&(tcp.Writable|tcp.Connected|tcp.Ended) != 0 {
		c.writeWaiter.wake()
	}
	if l := c.listener; l != nil && e&(tcp.Connected|tcp.Ended) != 0 {
		c.listener = nil
		l.endHandshake()
		if e&tcp.Ended != 0 || !c.handOverLocked(l) {
			if c.acceptReserved {
				l.release(c.client)
			}
			c.tcp.Abort(c.s.now())
			c.closedByApp = true
			e |= c.tcp.Events()
			c.tcp.Output(c.s.now(), c.emitSegment)
		}
	}
	if e&tcp.Ended != 0 {
		c.removeLocked()
	}
	if c.session != nil && !c.turnPending {
		c.reader.queueConn(c)
	}
	return true
}

// removeLocked removes the connection from the stack's tables. The caller holds mu.
func (c *Conn) removeLocked() {
	if !c.removed {
		c.removed = true
		c.reader.timers.cancel(c)
		c.s.conns.remove(c)
	}
	if c.closedByApp {
		c.tcp.Release()
	}
}

// abort resets the connection because the stack closes.
func (c *Conn) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.s.now()
	c.tcp.Abort(now)
	c.flushLocked(now)
}

// failureLocked returns why the connection ended; io.EOF if it was closed in order. The caller
// holds mu.
func (c *Conn) failureLocked() error {
	switch cause := c.tcp.Cause(); {
	case c.addrOrLinkLost:
		return syscall.ECONNABORTED
	case cause == tcp.Refused:
		return syscall.ECONNREFUSED
	case cause == tcp.Reset:
		return syscall.ECONNRESET
	case c.unreachableErr != nil && (cause == tcp.TimedOut || cause == tcp.Unreachable):
		return c.unreachableErr
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
	c.readWaiter.callMu.Lock()
	defer c.readWaiter.callMu.Unlock()
	for {
		n, deadline, err := c.readSome(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, c.wrap("read", err)
		}
		c.readWaiter.wait(deadline)
	}
}

// readSome reads what there is. If there is nothing, the reader's goroutine copies what arrives
// into p.
func (c *Conn) readSome(p []byte) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, c.readWaiter.readCount, c.readWaiter.readBuf = c.readWaiter.readCount, 0, nil; n > 0 {
		return n, deadline, nil
	}
	if n, deadline, err = c.takeLocked(p, (*tcp.Conn).Read); n == 0 && err == nil {
		c.readWaiter.readBuf = p
		c.readWaiter.armLocked()
	}
	return n, deadline, err
}

// takeLocked has take, one of tcp.Conn's reading methods, fill p. Without data it returns the error
// of a stream that has ended, or 0. The caller holds mu.
func (c *Conn) takeLocked(p []byte, take func(*tcp.Conn, tcp.Time, []byte) int) (n int, deadline time.Time, err error) {
	if c.readClosed && !c.closedByApp {
		return 0, deadline, io.EOF
	}
	deadline = c.readWaiter.deadline
	if err = c.readWaiter.stopReason(c.closedByApp); err != nil {
		return 0, deadline, err
	}
	now := c.s.now()
	if n = take(c.tcp, now, p); n > 0 {
		if c.tcp.Pending() {
			c.flushLocked(now)
		}
		return n, deadline, nil
	}
	if c.tcp.AwaitsData() { // the server may speak first
		c.tcp.SendSYN()
		c.flushLocked(now)
	}
	if c.tcp.AtEnd() {
		if c.tcp.PeerFinished() { // a FIN came: the stream is complete, whatever came after it
			return 0, deadline, io.EOF
		}
		return 0, deadline, c.failureLocked()
	}
	return 0, deadline, nil
}

// Write implements net.Conn. It returns when all of p is in the send buffer, before the peer has
// acknowledged it.
func (c *Conn) Write(p []byte) (int, error) { return c.write(p, false) }

// write is Write; more says that more data follows soon.
func (c *Conn) write(p []byte, more bool) (int, error) {
	c.writeWaiter.callMu.Lock()
	defer c.writeWaiter.callMu.Unlock()
	for written := 0; ; {
		n, deadline, err := c.writeSome(p[written:], more, true)
		written += n
		if err != nil || written == len(p) {
			return written, c.wrap("write", err)
		}
		c.writeWaiter.wait(deadline)
	}
}

// writeSome writes as much of p as there is room for. wait says that the caller waits for more room
// then.
func (c *Conn) writeSome(p []byte, more, wait bool) (n int, deadline time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline = c.writeWaiter.deadline
	if err = c.writeWaiter.stopReason(c.closedByApp); err != nil {
		return 0, deadline, err
	}
	if c.tcp.State() == tcp.Closed || c.tcp.WriteClosed() {
		// the errors of Linux
		if err = c.failureLocked(); err == io.EOF || err == syscall.ECONNRESET && c.tcp.PeerFinished() {
			err = syscall.EPIPE
		}
		return 0, deadline, err
	}
	now := c.s.now()
	c.tcp.SetMore(more)
	if n = c.tcp.Write(now, p); n > 0 || c.tcp.WaitingForMemory() {
		c.flushLocked(now)
	}
	if n < len(p) && wait {
		c.writeWaiter.armLocked()
	}
	return n, deadline, nil
}

// CloseWrite closes the sending direction (half-close); Read still works.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedByApp {
		return c.wrap("close", net.ErrClosed)
	}
	now := c.s.now()
	c.tcp.CloseWrite(now)
	c.flushLocked(now)
	c.writeWaiter.wake()
	return nil
}

// Close implements net.Conn. Written data is still sent. If received data is unread, the connection
// is reset (RFC 2525, section 2.17).
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedByApp {
		return c.wrap("close", net.ErrClosed)
	}
	now := c.s.now()
	c.closeLocked(now)
	c.flushLocked(now)
	c.readWaiter.wake()
	c.writeWaiter.wake()
	c.ready.mark(ReadReady | WriteReady)
	c.ready = nil
	return nil
}

// closeLocked closes both directions for the application. The caller holds mu and flushes.
func (c *Conn) closeLocked(now tcp.Time) {
	c.closedByApp = true
	switch {
	case c.tcp.State() == tcp.Closed:
		c.tcp.Release()
	case c.tcp.Buffered() > 0 || c.tcp.State() == tcp.SynSent && !c.tcp.HasWritten():
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
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadline(t, &c.readWaiter, &c.writeWaiter) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, &c.readWaiter) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, &c.writeWaiter) }

func (c *Conn) setDeadline(t time.Time, ws ...*waiter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedByApp {
		return &net.OpError{Op: "set", Net: "tcp", Addr: c.LocalAddr(), Err: net.ErrClosed}
	}
	for _, w := range ws {
		w.deadline = t
		w.wake()
	}
	return nil
}
