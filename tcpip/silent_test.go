package tcpip

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// A host that only sends datagrams and receives nothing detects that a neighbour is gone: the
// neighbour is probed about 5 s after its entry has become stale (RFC 1122, section 2.3.2.1).
func TestASilentNeighbourIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		c, err := s.Dial("udp", bareAddr.String()+":9")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 2 {
			if _, err := io.WriteString(c, "hello"); err != nil {
				t.Fatal(err)
			}
			if v := h.next(5 * time.Second); v == nil || v.Protocol() != wire.UDPProtocol {
				t.Fatalf("got the packet % x, want a datagram, sent also while the neighbour is probed (RFC 4861, section 7.3.3)", []byte(v))
			}
			time.Sleep(time.Minute) // from the second time on the neighbour is silent
		}
		asked, frames := 0, make([]link.Frame, 1)
		for {
			n, err := h.q.Read(frames, time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			e, _ := wire.ParseEthernet(frames[0].Bytes)
			if m, fault := wire.ParseARP(e.Payload()); fault == wire.OK && e.Type() == wire.TypeARP && m.Operation() == wire.ARPRequest && e.Dst() == h.mac {
				asked++
			}
		}
		if asked != 3 {
			t.Errorf("the neighbour was asked %d times, want 3", asked)
		}
	})
}
