package wsload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tlsclient"
	"weir/lab/workload/http/wsload/frame"
)

// connState is the state of a connection.
type connState uint8

const (
	connecting  connState = iota // the TCP connection is being opened
	handshaking                  // TLS is being negotiated
	upgrading                    // the upgrade is being sent or answered
	open                         // for messages
	closing                      // a Close frame was sent after the run
	lost                         // closed or broken by the server
)

// maxOut is the size in bytes of what a server makes the client send without reading it.
const maxOut = MaxSize + 1<<20

// conn is a connection.
type conn struct {
	fd         int32           // -1: not open
	tls        *tlsclient.Conn // nil: ws://, or the TCP connection is not yet open
	state      connState
	hangup     bool   // the server will send nothing more
	stateSince int64  // ns
	accept     string // of the upgrade
	head       []byte // received of its answer
	out        []byte // bytes that the socket did not take
	parser     frame.Parser

	next     schedule.Moment // first message that is not sent
	dueCount uint64          // messages that became due, sent or not
	awaited  schedule.Moment // first message whose echo is not complete
	pending  schedule.Moment // first message that is neither answered nor failed
	offset   int             // bytes received of the awaited echo
	wrong    bool            // they are not those of the message
}

// Connect implements oneloop.Loop.
func (l *loop) Connect(i int) {
	c := &l.conns[i]
	fd, err := l.Dial(i, nil)
	if c.fd, c.stateSince = fd, l.Clock.Now(); err != nil {
		l.NotConnected(err)
	}
}

// Handle implements oneloop.Loop.
func (l *loop) Handle(i int, events uint32) {
	c := &l.conns[i]
	if c.fd < 0 {
		return
	}
	c.hangup = c.hangup || events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if c.state == connecting && !l.connectionOpened(i) {
		return
	}
	if c.tls != nil {
		l.handleTLS(i, events)
		return
	}
	if events&unix.EPOLLOUT != 0 {
		if l.flush(i); c.state == open && len(c.out) == 0 {
			l.sendNext(i)
		}
	}
	if c.fd >= 0 && events&^unix.EPOLLOUT != 0 {
		l.receive(i)
	}
}

// connectionOpened handles the outcome of a connection attempt, and reports whether the TCP
// connection i is open.
func (l *loop) connectionOpened(i int) bool {
	c := &l.conns[i]
	if err := oneloop.Connected(int(c.fd)); err != nil {
		l.NotConnected(err)
		return false
	}
	now := l.Clock.Now()
	l.connects.Record(now - c.stateSince)
	if l.tlsConfig == nil {
		l.beginUpgrade(i, now)
		return true
	}
	c.state, c.stateSince = handshaking, now
	c.tls = tlsclient.New(c.fd, l.tlsConfig)
	l.stepHandshake(i)
	return true
}

// beginUpgrade asks for WebSocket on connection i.
func (l *loop) beginUpgrade(i int, now int64) {
	c := &l.conns[i]
	c.state, c.stateSince = upgrading, now
	key, accept := newKey()
	c.accept, c.out = accept, l.upgrade(key)
	l.flush(i)
}

// flush sends the output of connection i until the socket buffer is full.
func (l *loop) flush(i int) {
	for c := &l.conns[i]; len(c.out) > 0; {
		n := l.send(i, c.out)
		if n == 0 {
			return
		}
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
}

// send sends what the socket of connection i takes, and returns how much that is. An error loses
// the connection.
func (l *loop) send(i int, text []byte) int {
	c := &l.conns[i]
	if c.tls != nil {
		return l.sendTLS(i, text)
	}
	for {
		n, errno := raw.Send(c.fd, text)
		switch errno {
		case 0:
			return n
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0
		default:
			l.lose(i, oneloop.ErrorKind(errno), errno.Error())
			return 0
		}
	}
}

// write sends a frame on connection i, behind its other output.
func (l *loop) write(i int, op frame.Opcode, payload []byte) {
	c := &l.conns[i]
	if len(c.out) > maxOut {
		l.lose(i, kindProtocol, "the server does not read what it makes the client send")
		return
	}
	l.encoded = frame.Append(l.encoded[:0], op, payload, rand.Uint32())
	rest := l.encoded
	if len(c.out) == 0 {
		n := l.send(i, rest)
		if rest = rest[n:]; c.fd < 0 {
			return
		}
	}
	if c.out = append(c.out, rest...); len(rest) > 0 && len(rest) < len(l.encoded) {
		l.flush(i)
	}
}

// sendNext sends the messages of connection i that are due, as far as the socket has room.
func (l *loop) sendNext(i int) {
	for c := &l.conns[i]; c.state == open && c.next.K < c.dueCount && len(c.out) == 0; {
		k := c.next.K
		c.next = l.after(i, c.next)
		l.write(i, l.op, l.payloads.of(i, k))
		if c.state != open {
			return
		}
		now := l.Clock.Now()
		if l.Window.Holds(now) {
			l.sent++
		}
		if !l.Echo { // nothing more is expected
			c.awaited = c.next
			l.messageSent(i, k, now)
		}
	}
}

// messageSent counts message k of connection i, which has no echo.
func (l *loop) messageSent(i int, k uint64, now int64) {
	c := &l.conns[i]
	if k < c.pending.K {
		return // it has failed
	}
	at := c.pending.At
	c.pending = c.next
	if l.Window.Holds(at) {
		l.Answered++
	}
	l.countMessage(now, l.Size)
}

// countMessage counts a message that is done.
func (l *loop) countMessage(now int64, size int) {
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.Messages++
		l.Bytes += int64(size)
	case now < l.Window.From.Load():
		l.WarmMessages++
	}
}

// receive reads from connection i until there is no more data.
func (l *loop) receive(i int) {
	for c := &l.conns[i]; c.fd >= 0; {
		n, errno := raw.Receive(c.fd, l.buffer)
		now := l.Clock.Now()
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0:
			l.lose(i, oneloop.ErrorKind(errno), errno.Error())
			return
		case n == 0:
			l.lose(i, oneloop.KindClosed, "the connection was closed without a Close frame")
			return
		}
		l.dataReceived(i, l.buffer[:n], now)
		if n < len(l.buffer) && !c.hangup {
			return
		}
	}
}

// dataReceived handles data received on connection i.
func (l *loop) dataReceived(i int, in []byte, now int64) {
	c := &l.conns[i]
	if c.state == upgrading {
		in = l.headReceived(i, in, now)
	}
	for len(in) > 0 && c.fd >= 0 {
		n, piece, ok, err := c.parser.Feed(in)
		if err != nil {
			l.lose(i, kindProtocol, err.Error())
			return
		}
		if in = in[n:]; ok {
			l.pieceReceived(i, piece, now)
		}
	}
}

// headReceived handles data of the answer to the upgrade of connection i, and returns what is
// behind it.
func (l *loop) headReceived(i int, in []byte, now int64) (rest []byte) {
	c := &l.conns[i]
	before := len(c.head)
	c.head = append(c.head, in...)
	end := bytes.Index(c.head, headEnd)
	if end < 0 && len(c.head) <= maxHead {
		return nil
	}
	err := fmt.Errorf("the head of its answer has more than %d bytes", maxHead)
	if end >= 0 && end <= maxHead {
		end += len(headEnd)
		err = checkUpgrade(c.head[:end], c.accept)
	}
	if err != nil {
		l.lose(i, kindUpgrade, err.Error())
		return nil
	}
	c.head, c.state = nil, open
	l.upgrades.Record(now - c.stateSince)
	l.ReadyOnes++
	l.Alive.Add(1)
	return in[end-before:]
}

// lose closes connection i, which the server closed or broke: what is due on it fails.
func (l *loop) lose(i int, kind, detail string) {
	c := &l.conns[i]
	was := c.state
	c.state, c.out = lost, nil
	l.closeSocket(i)
	if was == closing {
		return // as it was asked to
	}
	now := l.Clock.Now()
	if l.Start.Load() == 0 && l.Err == nil {
		l.Err = fmt.Errorf("load: the server at %s does not speak WebSocket here: %s", l.Server.Address, detail)
	}
	if failed := c.dueCount - c.pending.K; failed == 0 {
		l.Failures.Add(kind, 1, "connection %d: %s", i, detail)
		l.Failed.Add(1)
	}
	l.abandon(i, now, kind, detail)
	if was == open && l.Alive.Add(-1) == 0 && !l.IsOver {
		l.Err = oneloop.ErrAllLost
	}
}

// abandon fails all messages that are due on connection i, which is lost.
func (l *loop) abandon(i int, now int64, kind, detail string) {
	c := &l.conns[i]
	for c.pending.K < c.dueCount {
		l.failPending(i, now, kind, detail)
	}
	c.next, c.awaited = c.pending, c.pending
}
