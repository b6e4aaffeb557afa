package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/serve/lifecycle"
)

// stream is the net.Conn of a connection that has a goroutine of its own. To the accepted
// connection it adds counters, the drain of a stop, and interrupts.
//
// The goroutine that serves it owns it. Any goroutine may call stop, interrupt, tryWrite, fail,
// closeNow and Close.
type stream struct {
	net.Conn
	counters      *counterShard
	rawConn       syscall.RawConn // nil: the connection has no file descriptor
	socketConn    syscall.RawConn // raw, or that of the connection under TLS; nil: none
	acks          acknowledger    // the connection, or that under TLS; nil: it does not report them
	lingerTimeout time.Duration   // Options.LingerTimeout
	detectsIdle   bool            // Options.IdleTimeout is set
	direct        directIO

	stopping    atomic.Bool
	handingOver atomic.Bool // with stopping: it hands over
	noLinger    atomic.Bool // the peer has finished or the connection is broken: no lingering close
	ended       atomic.Bool // the handler has returned
	hasOutput   atomic.Bool // some output was written
	// why a write of another goroutine than the owner has failed; nil: none has
	writeErr atomic.Pointer[error]
	failErr  atomic.Pointer[error] // what reads and writes return from now on; nil: they go on
	// any goroutine -> a wait of the owner; one pending signal suffices, never closed
	interruptc    chan struct{}
	closedc       chan struct{} // closed by the first Close
	closeOnce     sync.Once
	halfCloseOnce sync.Once
	canLoseOutput bool // output could be lost by a close; set under halfCloseOnce
}

// quietPeriod is how long a connection without a file descriptor must give nothing to count as
// drained.
const quietPeriod = 50 * time.Millisecond

// past is a deadline that interrupts a read or write.
var past = time.Unix(1, 0)

func newStream(c net.Conn, n *counterShard, o *Options) *stream {
	s := &stream{Conn: c, counters: n, lingerTimeout: o.LingerTimeout, detectsIdle: o.IdleTimeout > 0, interruptc: make(chan struct{}, 1), closedc: make(chan struct{})}
	s.rawConn = rawConnOf(c)
	s.socketConn = s.rawConn
	s.direct.init(s.rawConn)
	s.acks, _ = c.(acknowledger)
	if t, ok := c.(interface{ NetConn() net.Conn }); ok && s.rawConn == nil {
		s.socketConn = rawConnOf(t.NetConn())
		s.acks, _ = t.NetConn().(acknowledger)
	}
	return s
}

// rawConnOf returns the file descriptor of c, nil if it has none.
func rawConnOf(c net.Conn) syscall.RawConn {
	if sc, ok := c.(syscall.Conn); ok && onUnix {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// Read implements net.Conn.
func (s *stream) Read(p []byte) (n int, err error) {
	if !s.stopping.Load() {
		n, err = s.readOnce(p)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && s.stopping.Load() {
			n, err = s.readArrived(p)
		}
	} else {
		n, err = s.readArrived(p)
	}
	if n > 0 {
		s.counters.reads.add(1)
		s.counters.readBytes.add(int64(n))
	}
	if err != nil {
		err = s.connError(err)
	}
	return n, err
}

// NetConn returns the accepted connection.
func (s *stream) NetConn() net.Conn { return s.Conn }

// readOnce reads what arrives first.
func (s *stream) readOnce(p []byte) (int, error) {
	if n, err, ok := s.direct.read(p); ok {
		return n, err
	}
	return s.Conn.Read(p)
}

// writeAll writes p.
func (s *stream) writeAll(p []byte) (int, error) {
	if n, err, ok := s.direct.write(p); ok {
		return n, err
	}
	return s.Conn.Write(p)
}

// connError returns the error of a Read or Write that has failed with err. It notes when the
// connection cannot be used any more.
func (s *stream) connError(err error) error {
	if cause := s.failErr.Load(); cause != nil {
		return *cause
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, ErrStopped) {
		s.noLinger.Store(true)
	}
	return err
}

// fail makes reads and writes, also those under way, return err from now on.
func (s *stream) fail(err error) {
	s.failErr.CompareAndSwap(nil, &err)
	s.endWait()
	s.Conn.SetDeadline(past)
}

// sharedBuffer, lendBuffer and returnBuffer implement sessionHost: a goroutine has buffers of its
// own.
func (*stream) sharedBuffer() []byte { return nil }
func (*stream) lendBuffer(*Writer)   {}
func (*stream) returnBuffer(*Writer) {}

// readArrived reads input that has arrived, and returns ErrStopped when there is no more. The stop,
// or an interrupt, may set the deadline meanwhile, which says nothing about the input: it tries
// again then.
func (s *stream) readArrived(p []byte) (n int, err error) {
	for until := time.Now().Add(quietPeriod); s.failErr.Load() == nil; {
		if s.rawConn == nil {
			n, err = s.readQuiet(p, until)
		} else {
			n, err = s.readNonblocking(p)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
}

// readQuiet is readArrived without a file descriptor.
func (s *stream) readQuiet(p []byte, until time.Time) (int, error) {
	s.Conn.SetReadDeadline(until)
	n, err := s.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(until) {
		err = ErrStopped
	}
	return n, err
}

// readNonblocking is readArrived with a file descriptor: a read that does not wait.
func (s *stream) readNonblocking(p []byte) (int, error) {
	s.Conn.SetReadDeadline(time.Time{})
	n, err := 0, error(nil)
	rawErr := s.rawConn.Read(func(fd uintptr) bool {
		n, err = readFD(fd, p)
		return true
	})
	switch {
	case rawErr != nil:
		return 0, rawErr
	case err == syscall.EAGAIN:
		return 0, ErrStopped
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn.
func (s *stream) Write(p []byte) (int, error) {
	if s.detectsIdle && len(p) > idleWriteSize {
		return s.writeParts(p)
	}
	n, err := s.writeAll(p)
	s.countWritten(n)
	if err != nil {
		err = s.connError(err)
	}
	return n, err
}

// writeParts writes a large buffer in parts, so that the idle detector sees progress.
func (s *stream) writeParts(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, idleWriteSize) {
		wrote, err := s.Write(part)
		if n += wrote; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *stream) countWritten(n int) {
	if n > 0 {
		if !s.hasOutput.Load() {
			s.hasOutput.Store(true)
		}
		s.counters.writes.Add(1)
		s.counters.writtenBytes.Add(int64(n))
	}
}

// tryWrite implements nonblockingWriter. Without a file descriptor it takes nothing, and all output
// is queued.
func (s *stream) tryWrite(p []byte) (int, error) {
	if s.rawConn == nil {
		return 0, nil
	}
	n, err := 0, error(nil)
	rawErr := s.rawConn.Write(func(fd uintptr) bool {
		n, err = writeFD(fd, p)
		return true
	})
	if rawErr != nil {
		return s.cannotWrite(rawErr)
	}
	return s.wrote(n, err)
}

// cannotWrite returns what tryWrite returns if the descriptor cannot be used now.
func (s *stream) cannotWrite(err error) (int, error) {
	if errors.Is(err, os.ErrDeadlineExceeded) { // interrupted: the owner will write it
		return 0, nil
	}
	return 0, err
}

// wrote implements nonblockingWriter.
func (s *stream) wrote(n int, err error) (int, error) {
	switch {
	case err == syscall.EAGAIN:
		return 0, nil
	case err != nil:
		err = os.NewSyscallError("write", err)
		s.writeErr.CompareAndSwap(nil, &err) // the kernel reports the error only once
		s.interrupt()
		return 0, err
	}
	s.countWritten(n)
	return n, nil
}

// SetDeadline implements net.Conn.
func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. A stop that comes meanwhile takes precedence.
func (s *stream) SetReadDeadline(t time.Time) error {
	err := s.Conn.SetReadDeadline(t)
	if s.stopping.Load() || s.failErr.Load() != nil {
		s.Conn.SetReadDeadline(past)
	}
	return err
}

// SetWriteDeadline implements net.Conn.
func (s *stream) SetWriteDeadline(t time.Time) error {
	err := s.Conn.SetWriteDeadline(t)
	if s.failErr.Load() != nil {
		s.Conn.SetWriteDeadline(past)
	}
	return err
}

// Close implements net.Conn. Where output could be lost it starts a lingering close, which ends
// when the handler has returned, or after LingerTimeout.
func (s *stream) Close() (err error) {
	err = net.ErrClosed
	s.closeOnce.Do(func() {
		s.fail(net.ErrClosed)
		close(s.closedc)
		if !s.shutdownWrite() {
			err = s.Conn.Close()
			return
		}
		err = nil
		time.AfterFunc(s.lingerTimeout, func() { s.Conn.Close() })
	})
	return err
}

// closeNow closes the connection without a lingering close: output in flight may be lost.
func (s *stream) closeNow() {
	s.closeOnce.Do(func() { close(s.closedc) })
	if t, ok := s.Conn.(interface{ NetConn() net.Conn }); ok {
		t.NetConn().Close() // closing TLS would wait for the peer to take an alert
	}
	s.Conn.Close()
}

// stop makes reads return what has arrived and then ErrStopped, and ends a wait. To hand over, it
// interrupts writes, too.
func (s *stream) stop(move bool) {
	s.handingOver.Store(move)
	s.stopping.Store(true)
	if move {
		s.interrupt()
		return
	}
	s.Conn.SetReadDeadline(past)
	s.endWait()
}

func (s *stream) handsOver() bool { return s.handingOver.Load() }

// resumesWrites reports whether a Write that its deadline cut short can be continued.
func (s *stream) resumesWrites() bool { return s.rawConn != nil }

func (s *stream) isStopping() bool { return s.stopping.Load() }

// tlsBuffered is the most input that TLS may have read and not returned: the largest record.
const tlsBuffered = 16 << 10

// queuedInput implements sessionHost.
func (s *stream) queuedInput() (queued, buffered int) {
	if s.rawConn == nil {
		buffered = tlsBuffered
	}
	if s.socketConn == nil || s.socketConn.Control(func(fd uintptr) { queued = arrivedInput(int(fd)) }) != nil {
		return lifecycle.UnknownInput, buffered
	}
	return queued, buffered
}

// interrupt ends a Read, Write or wait that is under way, or the next one. An interrupted Read or
// Write returns os.ErrDeadlineExceeded; its owner must call arm before the next one. Without a file
// descriptor a Write continues, because an interrupted write breaks TLS.
func (s *stream) interrupt() {
	s.endWait()
	if s.rawConn == nil {
		s.Conn.SetReadDeadline(past)
		return
	}
	s.Conn.SetDeadline(past)
}

// endWait ends a wait that is under way, or the next one.
func (s *stream) endWait() {
	select {
	case s.interruptc <- struct{}{}:
	default:
	}
}

// abandon ends reads and writes, those under way too.
func (s *stream) abandon() {
	s.interrupt()
	s.Conn.SetWriteDeadline(past)
}

// arm implements sessionHost. A Write without a file descriptor has no deadline (see interrupt).
func (s *stream) arm(until time.Time) {
	if s.rawConn == nil {
		s.SetReadDeadline(until) // it handles the error of fail, too
		return
	}
	s.Conn.SetDeadline(until)
	if s.failErr.Load() != nil {
		s.Conn.SetDeadline(past)
	} else if s.stopping.Load() {
		s.Conn.SetReadDeadline(past)
	}
}

// pause waits until the time (zero: no limit), an interrupt, the stop or Close.
func (s *stream) pause(until time.Time) (err error) {
	var timec <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timec = t.C
	}
	select {
	case <-timec:
	case <-s.interruptc:
	case <-s.closedc:
		err = ErrClosed
	}
	if cause := s.failErr.Load(); cause != nil {
		return *cause
	}
	return err
}

// waitEvent waits like pause for a session's owner, which has armed the deadlines. It also ends
// when the connection breaks.
func (s *stream) waitEvent(until time.Time) (err error) {
	if s.socketConn == nil || s.stopping.Load() {
		return s.pause(until)
	}
	var broken error
	err = s.socketConn.Read(func(fd uintptr) bool {
		if failed := s.writeErr.Load(); failed != nil {
			broken = *failed
		} else {
			broken = socketError(fd)
		}
		return broken != nil
	})
	if failed := s.writeErr.Load(); failed != nil {
		broken = *failed
	}
	if broken != nil {
		s.noLinger.Store(true)
		return broken
	}
	if cause := s.failErr.Load(); cause != nil {
		return *cause
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

func (s *stream) sleep(d time.Duration) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		if s.stopping.Load() {
			return ErrStopped
		}
		if err := s.pause(until); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) await(f func()) error {
	f()
	return nil
}

func (*stream) leaveLoop() bool { return false }

func (*stream) returnToLoop() {}

func (s *stream) skipLinger() { s.noLinger.Store(true) }
