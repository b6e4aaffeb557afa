package stack

import (
	"syscall"

	"golang.org/x/sys/unix"

	"weir/lab/load/internal/raw"
)

const (
	connectBytes = 4096
	// bytes of one write or read of bulk, after which the other connections have their turn; larger
	// ones cost less for each byte
	quantum = 1 << 20
)

// block is what is sent; nobody writes to it.
var block = newBlock()

// newBlock is written to once: memory that never was is one page of zeros, which is copied faster
// than what somebody would send.
func newBlock() []byte {
	b := make([]byte, quantum)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// said are the events that tell of something to read: bytes, an end, an error.
const said = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// connects are clients, each of which connects, sends, shuts down, waits for the end of stream, and
// begins again.
type connects struct{ *loop }

func (t *connects) opened(int) {}

func (t *connects) turn(i int, events uint32) {
	c := &t.conns[i]
	if c.state == open && !t.send(i) {
		return
	}
	if events&said == 0 || c.state != ending {
		return
	}
	if t.ended(i) {
		now := t.Clock.Now()
		if t.Window.Holds(now) {
			tcpInfo(c.fd, &t.info)
			t.segments.add(segmentsOf(&t.info))
		}
		t.count(now, now-c.begun)
		t.shut(i)
		t.queue(i)
	}
}

// send sends what is left and shuts down; it says whether the connection is still there.
func (t *connects) send(i int) bool {
	c := &t.conns[i]
	for c.written < connectBytes {
		n, errno := raw.Write(c.fd, block[:connectBytes-c.written])
		switch {
		case errno == syscall.EAGAIN:
			return true
		case errno == syscall.EINTR:
		case errno != 0:
			t.broken(i, errno)
			return false
		default:
			c.written += int64(n)
		}
	}
	unix.Shutdown(int(c.fd), unix.SHUT_WR) //nolint:errcheck // a connection that is gone shows when it is read
	c.state = ending
	return true
}

func (t *connects) measured() {}

func (t *connects) waits(c *conn) int64 { return c.begun }

// inward sends as much as goes.
type inward struct{ *loop }

func (t *inward) opened(int) { t.there++ }

func (t *inward) turn(i int, events uint32) {
	c := &t.conns[i]
	switch {
	case c.state == ending:
		if events&said != 0 && t.ended(i) {
			t.confirm(i)
		}
		return
	case events&said != 0 && t.spoke(i):
		return
	}
	if t.Start.Load() == 0 {
		return
	}
	for sent := 0; sent < quantum; {
		if t.over(t.Clock.Now()) {
			return
		}
		n, errno := raw.Write(c.fd, block)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno == syscall.EINTR:
		case errno != 0:
			t.broken(i, errno)
			return
		default:
			c.written += int64(n)
			sent += n
			t.moved(c, n)
		}
	}
	t.queue(i)
}

// spoke finds out what the stack said that should say nothing, and whether that was the
// connection's end.
func (t *inward) spoke(i int) bool {
	var one [1]byte
	switch n, errno := raw.Read(t.conns[i].fd, one[:]); {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return false
	case errno != 0:
		t.broken(i, errno)
	case n == 0:
		t.fail(i, kindClosed, "connection %d: the stack closed it while bytes came", i)
	default:
		t.fail(i, kindBody, "connection %d: the stack sent bytes that nobody asked for", i)
	}
	return true
}

// measured has every connection say that there is no more, so that the stack's end of stream says
// that it had all.
func (t *inward) measured() {
	now := t.Clock.Now()
	for i := range t.conns {
		switch c := &t.conns[i]; c.state {
		case open:
			unix.Shutdown(int(c.fd), unix.SHUT_WR) //nolint:errcheck // a connection that is gone shows when it is read
			c.state, c.since = ending, now
			t.begin(c)
		case connecting:
			t.shut(i)
		}
	}
}

// confirm checks that the other end has acknowledged every byte: SYN and FIN count as one each.
func (t *inward) confirm(i int) {
	c := &t.conns[i]
	tcpInfo(c.fd, &t.info)
	if acked := int64(t.info.Bytes_acked); acked < c.written {
		t.fail(i, kindLost, "connection %d: the stack ended it and has acknowledged %d bytes of %d", i, acked, c.written)
		return
	}
	t.confirmed++
	t.shut(i)
}

func (t *inward) waits(c *conn) int64 { return t.silentSince(c) }

// outward takes what comes and drops it in the kernel.
type outward struct{ *loop }

func (t *outward) opened(int) { t.there++ }

func (t *outward) turn(i int, _ uint32) {
	c := &t.conns[i]
	for got := 0; got < quantum && t.Start.Load() != 0 && !t.over(t.Clock.Now()); {
		n, errno := receiveAway(c.fd, quantum)
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno == syscall.EINTR:
		case errno != 0:
			t.broken(i, errno)
			return
		case n == 0:
			t.fail(i, kindClosed, "connection %d: the source ended", i)
			return
		default:
			got += n
			t.moved(c, n)
		}
	}
	t.queue(i)
}

func (t *outward) measured() {}

func (t *outward) waits(c *conn) int64 { return t.silentSince(c) }

// silentSince is when a byte last moved on a connection that is to be busy all the time; 0 before
// the load begins.
func (l *loop) silentSince(c *conn) int64 {
	if l.Start.Load() == 0 {
		return 0
	}
	return max(c.since, l.Start.Load())
}

// roundTrips sends a byte, waits for it, and sends the next.
type roundTrips struct{ *loop }

func (t *roundTrips) opened(int) { t.there++ }

func (t *roundTrips) turn(i int, events uint32) {
	c := &t.conns[i]
	if events&said != 0 {
		if !t.answered(i) {
			return
		}
		now := t.Clock.Now()
		t.count(now, now-c.begun)
	}
	if now := t.Clock.Now(); !c.asked && t.Start.Load() != 0 && !t.over(now) {
		t.ask(i, now)
	}
}

func (t *roundTrips) measured() {}

func (t *roundTrips) waits(c *conn) int64 {
	if c.asked {
		return c.begun
	}
	return 0
}

// ask sends a byte on connection i, which has none under way.
func (l *loop) ask(i int, now int64) {
	c := &l.conns[i]
	c.value++
	c.begun, c.asked = now, true
	one := [1]byte{c.value}
	if _, errno := raw.Write(c.fd, one[:]); errno != 0 {
		l.broken(i, errno)
	}
}

// answered says whether the byte of connection i has come back.
func (l *loop) answered(i int) bool {
	c := &l.conns[i]
	var in [2]byte
	n, errno := raw.Read(c.fd, in[:])
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0:
		l.broken(i, errno)
	case n == 0:
		l.fail(i, kindClosed, "connection %d: the stack closed it", i)
	case n > 1 || !c.asked || in[0] != c.value:
		l.fail(i, kindBody, "connection %d: %d bytes came, of which the first is %d, and the byte sent was %d", i, n, in[0], c.value)
	default:
		c.asked = false
		return true
	}
	return false
}

// ended says whether connection i, which is shut down, has come to its end of stream.
func (l *loop) ended(i int) bool {
	var one [1]byte
	switch n, errno := raw.Read(l.conns[i].fd, one[:]); {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
	case errno != 0:
		l.broken(i, errno)
	case n > 0:
		l.fail(i, kindBody, "connection %d: the stack sent bytes that nobody asked for", i)
	default:
		return true
	}
	return false
}

// holds opens connections, has each answered once, and leaves them alone.
type holds struct{ *loop }

// opened sends a byte: who sends it back has accepted the connection and serves it.
func (t *holds) opened(i int) { t.ask(i, t.Clock.Now()) }

func (t *holds) turn(i int, events uint32) {
	if events&said != 0 && t.answered(i) {
		t.there++
		t.Done.Add(1)
	}
}

func (t *holds) measured() {}

func (t *holds) waits(c *conn) int64 {
	if c.asked {
		return c.begun
	}
	return 0
}
