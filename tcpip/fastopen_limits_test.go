package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// fastSYN sends a SYN with sequence number 7, a cookie and a payload of 5 bytes from a port to port
// 80 of the stack, and returns the options of the SYN-ACK and how many bytes it acknowledges.
func (h *bareHost) fastSYN(port uint16, cookie wire.FastOpenCookie) (o wire.TCPOptions, acked int) {
	h.t.Helper()
	h.burst() // SYN-ACKs that were retransmitted
	h.from(port, wire.TCPFields{Seq: 7, Flags: wire.SYN, Window: 65535, Options: (&wire.TCPOptions{MSS: 1460, HasFastOpen: true, FastOpen: cookie}).Append(nil)}, "hello")
	v, seg := segmentOf(h.t, h.next(100*time.Millisecond))
	if seg.Flags != wire.SYN|wire.ACK || v.DstPort() != port {
		h.t.Fatalf("a SYN from port %d: got %v to port %d, want a SYN-ACK", port, seg.Flags, v.DstPort())
	}
	return seg.Options, seg.Ack.Sub(8)
}

// fastServer returns a stack that listens with Fast Open, its only neighbour, and a cookie for
// that.
func fastServer(t *testing.T, c Config, limit int) (*Listener, *bareHost, wire.FastOpenCookie) {
	t.Helper()
	s, h := bare(t, c)
	l := listenFast(t, s, ":80", limit)
	t.Cleanup(func() { l.Close() })
	o, acked := h.fastSYN(4000, wire.FastOpenCookie{})
	if !o.HasFastOpen || o.FastOpen.Length != 8 || acked != 0 {
		t.Fatalf("a SYN that requests a cookie: got the options %+v and %d bytes acknowledged; want a cookie of 8 bytes, and 0", o, acked)
	}
	h.reset(4000, 8)
	return l, h, o.FastOpen
}

// reset ends a connection from a port.
func (h *bareHost) reset(port uint16, seq wire.Seq) {
	h.from(port, wire.TCPFields{Seq: seq, Flags: wire.RST}, "")
	synctest.Wait()
}

// Beyond the limit of pending connections, handshakes are ordinary and grant no cookie. A RST does
// not make room at once (RFC 7413, section 5.1).
func TestPendingFastOpensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h, cookie := fastServer(t, Config{}, 2)
		accepted := func(port uint16) bool {
			o, acked := h.fastSYN(port, cookie)
			if o.HasFastOpen {
				t.Errorf("port %d: got a cookie, want none: it was valid, or the limit is reached", port)
			}
			return acked == 5
		}
		for port, want := range map[uint16]bool{5001: true, 5002: true} {
			if accepted(port) != want {
				t.Errorf("port %d: the data is not acknowledged, want it to be", port)
			}
		}
		if accepted(5003) {
			t.Error("data is accepted beyond the limit of 2 pending connections")
		}
		h.reset(5001, 13)
		h.reset(5003, 8)
		if accepted(5004) {
			t.Error("data is accepted right after a RST, want a pause of a minute")
		}
		h.reset(5004, 8)
		h.from(5002, wire.TCPFields{Seq: 13, Ack: 0, Flags: wire.RST}, "")
		time.Sleep(fastOpenResetTime)
		if n := h.s.Listeners()[0].FastOpen; n != 2 {
			t.Errorf("got %d counted connections before the next SYN, want 2", n)
		}
		if !accepted(5005) || !accepted(5006) || accepted(5007) {
			t.Error("a minute after the RSTs, want room for two connections again")
		}
	})
}

// A cookie is valid in its period and the next one, in which its client gets a new one, and for its
// client's address only (RFC 7413, section 4.1.2).
func TestFastOpenCookiesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h, cookie := fastServer(t, Config{}, 8)
		if o, acked := h.fastSYN(5000, cookie); acked != 5 || o.HasFastOpen {
			t.Errorf("a cookie in its period: got %d bytes acknowledged, a new cookie %t; want 5, false", acked, o.HasFastOpen)
		}
		forged := cookie
		forged.Bytes[7]++
		if o, acked := h.fastSYN(5001, forged); acked != 0 || !o.HasFastOpen || o.FastOpen != cookie {
			t.Errorf("a forged cookie: got %d bytes acknowledged and the options %+v; want 0 and the right cookie", acked, o)
		}
		short := wire.FastOpenCookie{Length: 4, Bytes: [16]byte(append(cookie.Bytes[:4:4], make([]byte, 12)...))}
		if _, acked := h.fastSYN(5002, short); acked != 0 {
			t.Error("the data with a part of a cookie is accepted, want it not to be")
		}
		other := tuple{netip.AddrPortFrom(stackAddr, 80), netip.MustParseAddrPort("10.0.0.8:5003")}
		if _, valid := h.s.checkFastOpenCookie(other, cookie, h.s.now()); valid {
			t.Error("the cookie of another address is valid, want it not to be")
		}
		time.Sleep(fastOpenPeriod)
		o, acked := h.fastSYN(5004, cookie)
		if acked != 5 || !o.HasFastOpen || o.FastOpen == cookie {
			t.Errorf("a cookie in the next period: got %d bytes acknowledged and the options %+v; want 5 and another cookie", acked, o)
		}
		time.Sleep(fastOpenPeriod)
		if _, acked := h.fastSYN(5005, cookie); acked != 0 {
			t.Error("a cookie is valid after two periods, want it not to be")
		}
	})
}

// With too many handshakes under way, a SYN with a valid cookie of Fast Open gets a SYN cookie, and
// its data is sent again; with a full accept queue it is dropped as others are.
func TestASYNFloodStopsFastOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, cookie := fastServer(t, Config{Backlog: 1}, 8)
		h.asks(5001)
		h.asks(5002)
		if o, acked := h.fastSYN(5003, cookie); acked != 0 || o.HasFastOpen {
			t.Errorf("during a flood: got %d bytes acknowledged, a cookie %t; want 0, false", acked, o.HasFastOpen)
		}
		if sent, _ := h.s.Cookies(); sent != 1 {
			t.Errorf("got %d SYN cookies, want 1", sent)
		}
		h.reset(5001, 8)
		h.reset(5002, 8)
		if _, acked := h.fastSYN(5004, cookie); acked != 5 {
			t.Error("after the flood, the data of a SYN is not accepted, want it to be")
		}
		h.from(5005, wire.TCPFields{Seq: 7, Flags: wire.SYN, Window: 65535}, "")
		if v := h.next(100 * time.Millisecond); v != nil {
			t.Errorf("a SYN with a full accept queue: got % x, want no answer", []byte(v))
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
			t.Errorf("got %q, error %v; want the data of the SYN", b[:n], err)
		}
		h.asks(5006)
	})
}

// A connection that the application never accepts is reset with its listener, and one whose
// handshake never completes times out; neither holds memory.
func TestFastOpenConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, h, cookie := fastServer(t, Config{}, 8)
		h.fastSYN(5001, cookie)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		h.fastSYN(5002, cookie)
		l.Close()
		if v, seg := segmentOf(t, h.next(100*time.Millisecond)); seg.Flags&wire.RST == 0 || v.DstPort() != 5002 {
			t.Errorf("got %v to port %d after Close, want a RST to port 5002", seg.Flags, v.DstPort())
		}
		time.Sleep(3 * time.Minute)
		c.Read(make([]byte, 5)) //nolint:errcheck // they are there
		if _, err := c.Read(make([]byte, 1)); !gone(err) {
			t.Errorf("Read after the handshake has timed out: got %v, want ETIMEDOUT", err)
		}
		c.Close()
		if held, _ := h.s.Memory(); held != 0 || len(h.s.Connections()) != 0 {
			t.Errorf("%d bytes and %d connections are left, want none", held, len(h.s.Connections()))
		}
	})
}

// A server, or something before it, that does not answer a SYN with data is not sent another one
// for a minute. The data arrives by an ordinary handshake (RFC 7413, section 4.1.3.1).
func TestASilentServerDisablesFastOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		server := fastOpenServer{stackAddr, netip.AddrPortFrom(bareAddr, 80)}
		s.fastOpens.learn(server, grantedCookie, s.now())
		c := dialFast(t, s, "10.0.0.9:80")
		c.Write(make([]byte, 100)) //nolint:errcheck // it is in the buffer
		if _, seg := segmentOf(t, h.next(time.Second)); !seg.Options.HasFastOpen || len(seg.Payload) != 100 {
			t.Fatalf("got the SYN %+v, want one with a cookie and 100 bytes", seg)
		}
		v, seg := segmentOf(t, h.next(2*time.Second))
		if seg.Options.HasFastOpen || len(seg.Payload) != 0 {
			t.Fatalf("got the SYN %+v again, want one without cookie and data", seg)
		}
		h.reply(v, wire.SYN, 1000)
		if _, seg := segmentOf(t, h.next(time.Second)); len(seg.Payload) != 100 {
			t.Errorf("got %d bytes after the handshake, want 100", len(seg.Payload))
		}
		c.Close()
		for _, wait := range []time.Duration{0, fastOpenPause} {
			time.Sleep(wait)
			h.burst()
			go func() { // until the stack closes
				if c, err := (&Dialer{Stack: s, FastOpen: true}).Dial("tcp", "10.0.0.9:80"); err == nil {
					c.Write(make([]byte, 100)) //nolint:errcheck // it is in the buffer
				}
			}()
			for v, seg = segmentOf(t, h.next(time.Second)); seg.Flags != wire.SYN; v, seg = segmentOf(t, h.next(time.Second)) {
			}
			if want := wait > 0; seg.Options.HasFastOpen != want {
				t.Errorf("%v after a negative response: got a cookie %t, want %t", wait, seg.Options.HasFastOpen, want)
			}
			h.reply(v, wire.SYN, 1000)
		}
	})
}
