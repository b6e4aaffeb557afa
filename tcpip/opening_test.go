package tcpip

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// from sends a segment from a port of the bare host to port 80 of the stack.
func (h *bareHost) from(port uint16, f wire.TCPFields, payload string) {
	f.Src, f.Dst = netip.AddrPortFrom(bareAddr, port), netip.AddrPortFrom(stackAddr, 80)
	h.send(wire.IPv4Fields{Protocol: wire.TCPProtocol}, append(wire.AppendTCP(nil, &f, []byte(payload)), payload...))
}

// asks sends a SYN from a port with sequence number 7, and returns the SYN-ACK's number.
func (h *bareHost) asks(port uint16) wire.Seq {
	h.t.Helper()
	h.from(port, wire.TCPFields{Seq: 7, Flags: wire.SYN, Window: 65535}, "")
	v, seg := segmentOf(h.t, h.next(100*time.Millisecond))
	if seg.Flags != wire.SYN|wire.ACK || v.DstPort() != port {
		h.t.Fatalf("a SYN from port %d: got %v to port %d, want a SYN-ACK", port, seg.Flags, v.DstPort())
	}
	return seg.Seq
}

// A returned SYN cookie that finds the accept queue full is dropped without a reset and holds no
// memory. The client's next segment may succeed.
func TestASYNCookieIsAcceptedOnceThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{Backlog: 1})
		l, err := s.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		first := h.asks(5001)
		h.asks(5002)
		cookie := h.asks(5003) // two fill it
		if given, _ := s.Cookies(); given != 1 {
			t.Fatalf("got %d SYN cookies, want 1", given)
		}
		h.from(5001, wire.TCPFields{Seq: 8, Ack: first + 1, Flags: wire.ACK, Window: 65535}, "")
		h.from(5003, wire.TCPFields{Seq: 8, Ack: cookie + 1, Flags: wire.ACK, Window: 65535}, "hello")
		if v := h.next(100 * time.Millisecond); v != nil {
			t.Errorf("a cookie without room in the accept queue: got the answer % x, want none", []byte(v))
		}
		if held, _ := s.Memory(); held != 0 {
			t.Errorf("%d bytes are in use for dropped handshakes, want 0", held)
		}
		if n := h.drops(); len(n) != 1 || n[DropBacklog] != 1 {
			t.Errorf("got drops %v, want one for backlog", n)
		}
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		h.from(5003, wire.TCPFields{Seq: 8, Ack: cookie + 1, Flags: wire.ACK, Window: 65535}, "hello")
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 10)
		if n, err := c.Read(said); err != nil || string(said[:n]) != "hello" {
			t.Errorf("the connection of a SYN cookie: got %q, error %v; want %q", said[:n], err, "hello")
		}
	})
}

// The number of connections is limited, in both directions.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{Connections: 2})
		if _, err := s.Listen("tcp", ":80"); err != nil {
			t.Fatal(err)
		}
		h.asks(5001)
		h.asks(5002)
		h.from(5003, wire.TCPFields{Seq: 7, Flags: wire.SYN, Window: 65535}, "")
		if v := h.next(100 * time.Millisecond); v != nil {
			t.Errorf("the third SYN: got the answer % x, want none", []byte(v))
		}
		if n := h.drops(); len(n) != 1 || n[DropBacklog] != 1 {
			t.Errorf("got drops %v, want one for backlog", n)
		}
		if _, err := s.Dial("tcp", "10.0.0.9:80"); !errors.Is(err, syscall.ENOBUFS) {
			t.Errorf("a Dial at the limit: got %v, want ENOBUFS", err)
		}
		h.from(5001, wire.TCPFields{Seq: 8, Flags: wire.RST}, "")
		synctest.Wait()
		h.asks(5003)
	})
}

// A negative number in the config is rejected.
func TestNegativeNumbersAreRejected(t *testing.T) {
	for _, c := range []Config{{Memory: -1}, {ErrorRate: -1}, {Backlog: -1}, {MaxTimeWait: -1}, {Connections: -1}} {
		if s, err := New(c); err == nil {
			s.Close()
			t.Errorf("New accepted %+v, want an error", c)
		}
	}
}
