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
)

// stream is the net.Conn of a connection that has a goroutine of its own. It adds to the one that
// was accepted: counting, the drain of a stop, and being poked out of a wait.
//
// The goroutine that serves it owns it; stop, poke, tryWrite, fail, cut and Close are for
// everybody.
type stream struct {
	net.Conn
	lane   *lane
	raw    syscall.RawConn // nil: bytes do not pass by a file descriptor
	socket syscall.RawConn // raw, or the one that TLS runs over; nil: none
	linger time.Duration   // bound of the lingering close
	idles  bool            // it ends when it is idle

	stopping atomic.Bool
	moving   atomic.Bool // with stopping: it hands over
	over     atomic.Bool // the peer has finished, or the connection is broken
	ended    atomic.Bool // the handler has returned
	output   atomic.Bool // something was written
	// why a write has failed that its owner did not make; nil: none has
	broken  atomic.Pointer[error]
	cause   atomic.Pointer[error] // what reads and writes return from now on; nil: they go on
	pokec   chan struct{}         // anybody -> a pause of the owner; one suffices, never closed
	closec  chan struct{}         // closed by the first Close
	closing sync.Once
	halving sync.Once
	halved  bool // there is something to linger for; by halving
}

// quiet is how long a connection without a file descriptor must give nothing to count as drained.
const quiet = 50 * time.Millisecond

// past interrupts what waits with a deadline.
var past = time.Unix(1, 0)

func newStream(c net.Conn, n *lane, o *Options) *stream {
	s := &stream{Conn: c, lane: n, linger: o.LingerClose, idles: o.Idle > 0, pokec: make(chan struct{}, 1), closec: make(chan struct{})}
	s.raw = rawConn(c)
	s.socket = s.raw
	if t, ok := c.(interface{ NetConn() net.Conn }); ok && s.raw == nil {
		s.socket = rawConn(t.NetConn())
	}
	return s
}

// rawConn is the file descriptor of c, nil when it has none.
func rawConn(c net.Conn) syscall.RawConn {
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// Read implements net.Conn.
func (s *stream) Read(p []byte) (n int, err error) {
	if !s.stopping.Load() {
		n, err = s.Conn.Read(p)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && s.stopping.Load() {
			n, err = s.readLast(p)
		}
	} else {
		n, err = s.readLast(p)
	}
	if n > 0 {
		s.lane.reads.add(1)
		s.lane.readBytes.add(int64(n))
	}
	if err != nil {
		err = s.failure(err)
	}
	return n, err
}

// failure is what a Read or Write returns that has failed by err. It notes when the connection
// cannot be used any more.
func (s *stream) failure(err error) error {
	if cause := s.cause.Load(); cause != nil {
		return *cause
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, ErrStopped) {
		s.over.Store(true)
	}
	return err
}

// fail has reads and writes, also those under way, return err from now on.
func (s *stream) fail(err error) {
	s.cause.CompareAndSwap(nil, &err)
	s.rouse()
	s.Conn.SetDeadline(past)
}

// sharedBuffer, lend and takeBack implement host: a goroutine has buffers of its own.
func (*stream) sharedBuffer() []byte { return nil }
func (*stream) lend(*Writer)         {}
func (*stream) takeBack(*Writer)     {}

// readLast reads what has arrived, and gives ErrStopped when there is no more. The stop, or a poke,
// may set the deadline under it, which says nothing about what has arrived: it tries again then.
func (s *stream) readLast(p []byte) (n int, err error) {
	for until := time.Now().Add(quiet); s.cause.Load() == nil; {
		if s.raw == nil {
			n, err = s.readQuiet(p, until)
		} else {
			n, err = s.readNow(p)
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
}

// readQuiet is readLast without a file descriptor.
func (s *stream) readQuiet(p []byte, until time.Time) (int, error) {
	s.Conn.SetReadDeadline(until)
	n, err := s.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(until) {
		err = ErrStopped
	}
	return n, err
}

// readNow is readLast with a file descriptor: a read that does not wait.
func (s *stream) readNow(p []byte) (int, error) {
	s.Conn.SetReadDeadline(time.Time{})
	n, err := 0, error(nil)
	rawErr := s.raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), p)
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
	if s.idles && len(p) > idleWrite {
		return s.writeParts(p)
	}
	n, err := s.Conn.Write(p)
	s.wrote(n)
	if err != nil {
		err = s.failure(err)
	}
	return n, err
}

// writeParts writes what is large, so that its progress is seen.
func (s *stream) writeParts(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, idleWrite) {
		wrote, err := s.Write(part)
		if n += wrote; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *stream) wrote(n int) {
	if n > 0 {
		if !s.output.Load() {
			s.output.Store(true)
		}
		s.lane.writes.Add(1)
		s.lane.writtenBytes.Add(int64(n))
	}
}

// tryWrite implements taker. Without a file descriptor nothing can be tried, and all is queued.
func (s *stream) tryWrite(p []byte) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	n, err := 0, error(nil)
	rawErr := s.raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), p)
		return true
	})
	switch {
	case errors.Is(rawErr, os.ErrDeadlineExceeded): // poked: the owner will write it
		return 0, nil
	case rawErr != nil:
		return 0, rawErr
	case err == syscall.EAGAIN:
		return 0, nil
	case err != nil:
		err = os.NewSyscallError("write", err)
		s.broken.CompareAndSwap(nil, &err) // the kernel tells it once
		s.poke()
		return 0, err
	}
	s.wrote(n)
	return n, nil
}

// SetDeadline implements net.Conn.
func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. A stop that comes meanwhile wins.
func (s *stream) SetReadDeadline(t time.Time) error {
	err := s.Conn.SetReadDeadline(t)
	if s.stopping.Load() || s.cause.Load() != nil {
		s.Conn.SetReadDeadline(past)
	}
	return err
}

// SetWriteDeadline implements net.Conn.
func (s *stream) SetWriteDeadline(t time.Time) error {
	err := s.Conn.SetWriteDeadline(t)
	if s.cause.Load() != nil {
		s.Conn.SetWriteDeadline(past)
	}
	return err
}

// Close implements net.Conn. Where output could be lost, it begins a lingering close, which ends
// when the handler has returned, or after its bound.
func (s *stream) Close() (err error) {
	err = net.ErrClosed
	s.closing.Do(func() {
		close(s.closec)
		s.fail(net.ErrClosed)
		if !s.half() {
			err = s.Conn.Close()
			return
		}
		err = nil
		time.AfterFunc(s.linger, func() { s.Conn.Close() })
	})
	return err
}

// cut closes the connection at once: what is on its way may be lost.
func (s *stream) cut() {
	s.closing.Do(func() { close(s.closec) })
	if t, ok := s.Conn.(interface{ NetConn() net.Conn }); ok {
		t.NetConn().Close() // or TLS would wait for its peer to take an alert
	}
	s.Conn.Close()
}

// stop has reads give what has arrived and then ErrStopped, and ends a pause; to hand over, writes
// too.
func (s *stream) stop(move bool) {
	s.moving.Store(move)
	s.stopping.Store(true)
	if move {
		s.poke()
		return
	}
	s.Conn.SetReadDeadline(past)
	s.rouse()
}

func (s *stream) handsOver() bool { return s.moving.Load() }

func (s *stream) stops() bool { return s.stopping.Load() }

// poke ends a Read, Write or pause that is under way, or the next one. A poked Read or Write gives
// os.ErrDeadlineExceeded; its owner must arm them again. Without a file descriptor a Write goes on:
// in TLS, one that is interrupted breaks the connection.
func (s *stream) poke() {
	s.rouse()
	if s.raw == nil {
		s.Conn.SetReadDeadline(past)
		return
	}
	s.Conn.SetDeadline(past)
}

// rouse ends a pause that is under way, or the next one.
func (s *stream) rouse() {
	select {
	case s.pokec <- struct{}{}:
	default:
	}
}

// abandon ends reads and writes, those under way too.
func (s *stream) abandon() {
	s.poke()
	s.Conn.SetWriteDeadline(past)
}

// arm implements host; a Write without a file descriptor has no deadline, for the reason told at
// poke.
func (s *stream) arm(until time.Time) {
	if s.raw == nil {
		s.SetReadDeadline(until) // which knows of the cause
		return
	}
	s.Conn.SetDeadline(until)
	if s.cause.Load() != nil {
		s.Conn.SetDeadline(past)
	} else if s.stopping.Load() {
		s.Conn.SetReadDeadline(past)
	}
}

// pause waits until the time (zero: for ever), a poke, the stop or Close.
func (s *stream) pause(until time.Time) error {
	var timec <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timec = t.C
	}
	select {
	case <-timec:
	case <-s.pokec:
	case <-s.closec:
		return ErrClosed
	}
	if cause := s.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// hold is pause for a session's owner, which has armed the deadlines: it also ends when the
// connection breaks.
func (s *stream) hold(until time.Time) (err error) {
	if s.socket == nil || s.stopping.Load() {
		return s.pause(until)
	}
	var broken error
	err = s.socket.Read(func(fd uintptr) bool {
		if told := s.broken.Load(); told != nil {
			broken = *told
		} else {
			broken = socketError(fd)
		}
		return broken != nil
	})
	if told := s.broken.Load(); told != nil {
		broken = *told
	}
	if broken != nil {
		s.over.Store(true)
		return broken
	}
	if cause := s.cause.Load(); cause != nil {
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
