package serve

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// Delivered reports output as unacknowledged until a peer that did not read has read it. Output
// that is queued when its connection breaks is never sent.
func TestDeliveredReportsAcknowledgedOutput(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{SendQueue: 10_000, DrainTimeout: 100 * time.Millisecond, FlushTimeout: time.Millisecond})
		c, cut := r.dial(), r.dial()
		reader, lost := <-opened, <-opened
		fill := func(to Conn) (n int) {
			for line := make([]byte, 1000); to.Send(line); n += len(line) {
			}
			return n
		}
		want := func(what string, to Conn, wantSent, wantAcknowledged bool) {
			t.Helper()
			eventually(t, what, func() bool {
				sent, acknowledged := Delivered(to)
				return sent == wantSent && (acknowledged == wantAcknowledged || !onLinux)
			})
		}
		exchange(t, c, "up")
		if reader.conn.RemoteAddr().String() != c.LocalAddr().String() {
			reader, lost = lost, reader
		}
		want("nothing is under way", reader.conn, true, true)
		n := fill(reader.conn)
		want("some waits", reader.conn, false, false)
		if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
			t.Fatal(err)
		}
		want("all was acknowledged", reader.conn, true, true)

		fill(lost.conn)
		cut.SetLinger(0)
		cut.Close()
		<-lost.closed
		want("some waits for ever", lost.conn, false, false)
		c.Close()
		r.stopsCleanly()
	})
}

// reporting is a connection of a network stack in user space: it has no descriptor, and knows what
// its peer has acknowledged.
type reporting struct {
	net.Conn
	unacknowledged int
}

func (r *reporting) Unacknowledged() int { return r.unacknowledged }

// Delivered knows of acknowledgments where the connection has a descriptor or reports them itself,
// also below TLS.
func TestAcknowledgmentsAreKnown(t *testing.T) {
	kernel := fullConn(t)
	for _, c := range []struct {
		name string
		conn net.Conn
		want bool
	}{
		{"a socket with unread output", kernel, onLinux},
		{"a socket with unread output, below TLS", tls.Server(kernel, nil), onLinux},
		{"a stack with output in flight", &reporting{kernel, 1}, true},
		{"a stack with output in flight, below TLS", tls.Server(&reporting{nil, 1}, nil), true},
		{"a stack whose output is acknowledged", &reporting{nil, 0}, false},
		{"a pipe", struct{ net.Conn }{}, false},
	} {
		if got := newStream(c.conn, &counterShard{}, &Options{}).inFlight(); got != c.want {
			t.Errorf("%s: got inFlight %v, want %v", c.name, got, c.want)
		}
	}
}

// fullConn returns a connection whose peer does not read, with as much output as the kernel takes.
func fullConn(t *testing.T) net.Conn {
	t.Helper()
	l := listen(t)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); peer.Close() })
	c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for err == nil {
		_, err = c.Write(make([]byte, 1<<20))
	}
	return c
}

// partingSession notes what Delivered reports when it is closed.
type partingSession struct {
	reachedSession
	acknowledged chan bool // Close -> test; capacity 1
}

func (p *partingSession) Close(error) {
	_, acknowledged := Delivered(p.conn)
	p.acknowledged <- acknowledged
}

// A session that ends because its peer has closed learns that the peer has not acknowledged all.
func TestDeliveredIsKnownWhenASessionEnds(t *testing.T) {
	if !onLinux {
		t.Skip("acknowledgments are known on Linux")
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		opened := make(chan *partingSession, 1)
		r := startService(t, w, sessions, service{open: func(c Conn) Session {
			p := &partingSession{reachedSession{conn: c}, make(chan bool, 1)}
			opened <- p
			return p
		}}, Options{DrainTimeout: time.Millisecond})
		c := r.dial()
		c.SetReadBuffer(4096)
		session := receive(t, opened, "a session")
		if !session.conn.Send(make([]byte, 100_000)) { // more than the peer's kernel takes
			t.Fatal("Send: got false, want true")
		}
		c.CloseWrite()
		if receive(t, session.acknowledged, "the end of the session") {
			t.Error("got all acknowledged at the end, want not: the peer has not read")
		}
		c.SetLinger(0)
		c.Close()
		r.stop() //nolint:errcheck // what the peer has not read is cut off
	})
}
