package tcpip

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// joined returns both ends of a connection in virtual time, and a function that cuts the link.
func joined(t *testing.T, do func(t *testing.T, a, b *Conn, cut func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		x, y := host(t, la, "10.0.0.1/24"), host(t, lb, "10.0.0.2/24")
		defer x.Close()
		defer y.Close()
		l, err := y.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.Dial("tcp", "10.0.0.2:80")
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		do(t, c.(*Conn), d.(*Conn), func() { lb.Close() })
	})
}

// gone reports whether an error says that the peer does not answer.
func gone(err error) bool {
	return errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTUNREACH)
}

func TestKeepAliveEndsOnlyDeadConnections(t *testing.T) {
	joined(t, func(t *testing.T, a, _ *Conn, cut func()) {
		if err := errors.Join(a.SetKeepAlive(true), a.SetKeepAlivePeriod(10*time.Second), a.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: -1, Interval: 5 * time.Second, Count: 3})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if a.tcp.State().String() != "ESTABLISHED" {
			t.Fatalf("with a live peer: got the state %v after an hour, want ESTABLISHED", a.tcp.State())
		}
		cut()
		begun := time.Now()
		_, err := a.Read(make([]byte, 1))
		if took := time.Since(begun); !gone(err) || took > 26*time.Second {
			t.Errorf("reading from a dead peer: got error %v after %v, want a timeout within 26 s, after keep-alive probes", err, took)
		}
	})
}

func TestUserTimeoutEndsAConnection(t *testing.T) {
	joined(t, func(t *testing.T, a, _ *Conn, cut func()) {
		if err := a.SetUserTimeout(3 * time.Second); err != nil {
			t.Fatal(err)
		}
		cut()
		a.Write([]byte("x")) //nolint:errcheck // it is in the buffer
		begun := time.Now()
		_, err := a.Read(make([]byte, 1))
		if took := time.Since(begun); !gone(err) || took < 3*time.Second || took > 10*time.Second {
			t.Errorf("reading from a dead peer: got error %v after %v, want a timeout after 3 s to 10 s (RFC 5482)", err, took)
		}
	})
}

func TestLingerDelaysOrResetsClose(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		if err := a.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer of a connection closed with SetLinger(0) reads %v, want ECONNRESET", err)
		}
		if err := a.SetLinger(0); !errors.Is(err, net.ErrClosed) {
			t.Errorf("an option set after Close: got %v, want net.ErrClosed", err)
		}
	})
	joined(t, func(t *testing.T, a, _ *Conn, cut func()) {
		if err := a.SetLinger(5); err != nil {
			t.Fatal(err)
		}
		cut()
		a.Write([]byte("x")) //nolint:errcheck // it is in the buffer
		a.Close()
		time.Sleep(4 * time.Second)
		if n := len(a.s.Connections()); n != 1 {
			t.Errorf("got %d connections after 4 s of a linger time of 5 s, want them still there", n)
		}
		time.Sleep(2 * time.Second)
		if n := len(a.s.Connections()); n != 0 {
			t.Errorf("got %d connections after 6 s, want them gone after 5 s", n)
		}
	})
}

func TestCorkAndDelayHoldSmallSegments(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		sent := func() uint64 { return a.iface.link.Queue(0).Counters().Sent }
		write := func(n int) { a.Write(make([]byte, n)) } //nolint:errcheck // it is in the buffer
		before := sent()
		write(1)
		write(1)
		if n := sent() - before; n != 2 {
			t.Errorf("two small writes: got %d segments, want 2", n)
		}
		a.SetCork(true) //nolint:errcheck // it is open
		before = sent()
		write(1)
		write(1)
		if n := sent() - before; n != 0 {
			t.Errorf("two small writes with SetCork: got %d segments, want 0", n)
		}
		a.SetCork(false)    //nolint:errcheck // the test checks its effect
		a.SetNoDelay(false) //nolint:errcheck // the test checks its effect
		if n := sent() - before; n != 1 {
			t.Errorf("after that: got %d segments, want 1", n)
		}
		buf := make([]byte, 4)
		if _, err := io.ReadFull(b, buf); err != nil {
			t.Error(err)
		}
	})
}

// Urgent data is reported, and read in line.
func TestUrgentDataIsReadInLine(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		a.Write([]byte("all")) //nolint:errcheck // the peer sees it
		if n, err := a.WriteUrgent([]byte("!")); n != 1 || err != nil {
			t.Errorf("WriteUrgent of one byte: got %d, error %v; want 1 without an error", n, err)
		}
		a.Write([]byte("well")) //nolint:errcheck // the test checks its effect
		synctest.Wait()
		if n := b.Urgent(); n != 4 {
			t.Errorf("got %d urgent bytes, want 4: all up to the urgent one", n)
		}
		buf := make([]byte, 8)
		if _, err := io.ReadFull(b, buf); err != nil || string(buf) != "all!well" || b.Urgent() != 0 {
			t.Errorf("got %q, error %v and %d urgent bytes; want %q and none urgent", buf, err, b.Urgent(), "all!well")
		}
	})
}

// Segments have the TOS of the application, the SYN too, but not its ECN bits.
func TestSegmentsHaveTheApplicationsTOS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		conns := make(chan net.Conn, 1) // the one
		go func() {
			c, err := (&Dialer{Stack: s, TOS: 0xb8 | ecnMarked}).Dial("tcp", "10.0.0.9:80")
			if err != nil {
				t.Error(err)
			}
			conns <- c
		}()
		syn := h.next(time.Second)
		h.reply(tcpOf(t, syn), wire.SYN, 1000)
		ack, c := h.next(time.Second), (<-conns).(*Conn)
		if err := c.SetTOS(0x20 | ecnCapable); err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("data")) //nolint:errcheck // the frame tells
		if data := h.next(time.Second); syn.TOS() != 0xb8 || ack.TOS() != 0xb8 || data.TOS() != 0x20 {
			t.Errorf("got TOS %#x in the SYN, %#x in its acknowledgment, %#x in data; want 0xb8, 0xb8 and, as set later, 0x20 without ECN bits", syn.TOS(), ack.TOS(), data.TOS())
		}
	})
}
