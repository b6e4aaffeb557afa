package stackload

import (
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
)

const (
	connectBytes = 4096 // payload of a connection of connect
	// bytes of bulk data that a connection transfers before the others run; larger ones cost less
	// per byte
	quantum = 1 << 20
)

// block is the data that is sent. It is read-only.
var block = newBlock()

// newBlock returns memory that has been written: memory that was never written is a single page of
// zeros, which is copied faster than real data.
func newBlock() []byte {
	b := make([]byte, quantum)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// readEvents are the events of data, end of stream or error.
const readEvents = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// connects is the task of connect. Each client connects, sends, shuts down, waits for the end of
// stream, and starts again.
type connects struct{ *loop }

func (t *connects) opened(int) {}

func (t *connects) turn(i int, events uint32) {
	c := &t.conns[i]
	if c.state == open && !t.send(i) {
		return
	}
	if events&readEvents == 0 || c.state != ending {
		return
	}
	if t.peerClosed(i) {
		now := t.Clock.Now()
		if t.Window.Holds(now) {
			tcpInfo(c.fd, &t.info)
			t.segments.add(segmentsOf(&t.info))
		}
		t.count(now, now-c.startedAt)
		t.closeConn(i)
		t.queue(i)
	}
}

// send sends the rest of the payload and shuts down. It reports whether the connection still
// exists.
func (t *connects) send(i int) bool {
	c := &t.conns[i]
	for c.written < connectBytes {
		n, errno := raw.Send(c.fd, block[:connectBytes-c.written])
		switch {
		case errno == syscall.EAGAIN:
			return true
		case errno == syscall.EINTR:
		case errno != 0:
			t.connectionError(i, errno)
			return false
		default:
			c.written += int64(n)
		}
	}
	unix.Shutdown(int(c.fd), unix.SHUT_WR) //nolint:errcheck // reading returns the error of a broken connection
	c.state = ending
	return true
}

func (t *connects) measured() {}

func (t *connects) waits(c *conn) int64 { return c.startedAt }

// inward is the task of in: it sends bulk data.
type inward struct{ *loop }

func (t *inward) opened(int) { t.ReadyOnes++ }

func (t *inward) turn(i int, events uint32) {
	c := &t.conns[i]
	switch {
	case c.state == ending:
		if events&readEvents != 0 && t.peerClosed(i) {
			t.confirm(i)
		}
		return
	case events&readEvents != 0 && t.spoke(i):
		return
	}
	if t.Start.Load() == 0 {
		return
	}
	for sent := 0; sent < quantum; {
		if t.windowOver(t.Clock.Now()) {
			return
		}
		n, errno := raw.Send(c.fd, block)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno == syscall.EINTR:
		case errno != 0:
			t.connectionError(i, errno)
			return
		default:
			c.written += int64(n)
			sent += n
			t.recordBulk(c, n)
		}
	}
	t.queue(i)
}

// spoke handles events of a service that should send nothing. It reports whether the connection was
// closed.
func (t *inward) spoke(i int) bool {
	var one [1]byte
	switch n, errno := raw.Receive(t.conns[i].fd, one[:]); {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return false
	case errno != 0:
		t.connectionError(i, errno)
	case n == 0:
		t.fail(i, oneloop.KindClosed, "connection %d: the stack closed it while data was being sent", i)
	default:
		t.fail(i, kindBody, "connection %d: the stack sent unexpected data", i)
	}
	return true
}

// measured shuts down every connection. The stack's end of stream then confirms that it has
// received all data.
func (t *inward) measured() {
	now := t.Clock.Now()
	for i := range t.conns {
		switch c := &t.conns[i]; c.state {
		case open:
			unix.Shutdown(int(c.fd), unix.SHUT_WR) //nolint:errcheck // reading returns the error of a broken connection
			c.state, c.lastProgressAt = ending, now
			t.countBusy(c)
		case connecting:
			t.closeConn(i)
		}
	}
}

// confirm checks that the stack has acknowledged every byte. SYN and FIN count as one each.
func (t *inward) confirm(i int) {
	c := &t.conns[i]
	tcpInfo(c.fd, &t.info)
	if acked := int64(t.info.Bytes_acked); acked < c.written {
		t.fail(i, kindLost, "connection %d: the stack closed it and acknowledged %d bytes of %d", i, acked, c.written)
		return
	}
	t.confirmed++
	t.closeConn(i)
}

func (t *inward) waits(c *conn) int64 { return t.silentSince(c) }

// outward is the task of out: it receives bulk data and drops it in the kernel.
type outward struct{ *loop }

func (t *outward) opened(int) { t.ReadyOnes++ }

func (t *outward) turn(i int, _ uint32) {
	c := &t.conns[i]
	for got := 0; got < quantum && t.Start.Load() != 0 && !t.windowOver(t.Clock.Now()); {
		n, errno := receiveAway(c.fd, quantum)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno == syscall.EINTR:
		case errno != 0:
			t.connectionError(i, errno)
			return
		case n == 0:
			t.fail(i, oneloop.KindClosed, "connection %d: the stack closed it", i)
			return
		default:
			got += n
			t.recordBulk(c, n)
		}
	}
	t.queue(i)
}

func (t *outward) measured() {}

func (t *outward) waits(c *conn) int64 { return t.silentSince(c) }

// silentSince returns the time of the last progress of a bulk connection; 0 before the load starts.
func (l *loop) silentSince(c *conn) int64 {
	if l.Start.Load() == 0 {
		return 0
	}
	return max(c.lastProgressAt, l.Start.Load())
}

// roundTrips is the task of rr: it sends a byte, waits for its echo, and sends the next.
type roundTrips struct{ *loop }

func (t *roundTrips) opened(int) { t.ReadyOnes++ }

func (t *roundTrips) turn(i int, events uint32) {
	c := &t.conns[i]
	if events&readEvents != 0 {
		if !t.echoReceived(i) {
			return
		}
		now := t.Clock.Now()
		t.count(now, now-c.startedAt)
	}
	if now := t.Clock.Now(); !c.asked && t.Start.Load() != 0 && !t.windowOver(now) {
		t.ask(i, now)
	}
}

func (t *roundTrips) measured() {}

func (t *roundTrips) waits(c *conn) int64 {
	if c.asked {
		return c.startedAt
	}
	return 0
}

// ask sends a byte on connection i, which has none under way.
func (l *loop) ask(i int, now int64) {
	c := &l.conns[i]
	c.value++
	c.startedAt, c.asked = now, true
	one := [1]byte{c.value}
	if _, errno := raw.Send(c.fd, one[:]); errno != 0 {
		l.connectionError(i, errno)
	}
}

// echoReceived reports whether the echo of connection i's byte has arrived.
func (l *loop) echoReceived(i int) bool {
	c := &l.conns[i]
	var in [2]byte
	n, errno := raw.Receive(c.fd, in[:])
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0:
		l.connectionError(i, errno)
	case n == 0:
		l.fail(i, oneloop.KindClosed, "connection %d: the stack closed it", i)
	case n > 1 || !c.asked || in[0] != c.value:
		l.fail(i, kindBody, "connection %d: got %d bytes, the first of them %d, for the byte %d", i, n, in[0], c.value)
	default:
		c.asked = false
		return true
	}
	return false
}

// peerClosed reports whether the stack has closed connection i, which is shut down here.
func (l *loop) peerClosed(i int) bool {
	var one [1]byte
	switch n, errno := raw.Receive(l.conns[i].fd, one[:]); {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0:
		l.connectionError(i, errno)
	case n > 0:
		l.fail(i, kindBody, "connection %d: the stack sent unexpected data", i)
	default:
		return true
	}
	return false
}

// holds is the task of idle: it opens connections, uses each once, and holds them.
type holds struct{ *loop }

// opened sends a byte. Its echo shows that the stack has accepted the connection and serves it.
func (t *holds) opened(i int) { t.ask(i, t.Clock.Now()) }

func (t *holds) turn(i int, events uint32) {
	if events&readEvents != 0 && t.echoReceived(i) {
		t.ReadyOnes++
		t.Done.Add(1)
	}
}

func (t *holds) measured() {}

func (t *holds) waits(c *conn) int64 {
	if c.asked {
		return c.startedAt
	}
	return 0
}
