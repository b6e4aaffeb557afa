package tcpip

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// Bytes that the peer had not acknowledged when a connection ended stay unacknowledged, whether the
// stack was closed or the connection aborted.
func TestBytesOfAnEndedConnectionStayUnacknowledged(t *testing.T) {
	for name, end := range map[string]func(*Stack, *Conn){
		"closed stack": func(s *Stack, _ *Conn) { s.Close() },
		"abort":        func(_ *Stack, c *Conn) { c.SetLinger(0); c.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := link.Pair(link.PairConfig{Medium: link.IP, MTU: 1500, Depth: 100})
			lossy, err := link.Impair(near, link.ImpairConfig{})
			if err != nil {
				t.Fatal(err)
			}
			var stacks [2]*Stack
			for n, l := range []link.Link{lossy, far} {
				addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(n + 1)})
				if stacks[n], err = New(Config{Link: l, Addrs: []netip.Prefix{netip.PrefixFrom(addr, 24)}}); err != nil {
					t.Fatal(err)
				}
				defer stacks[n].Close()
			}
			l, err := stacks[1].Listen("tcp", ":80")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			d, err := stacks[0].Dial("tcp", "10.0.0.2:80")
			if err != nil {
				t.Fatal(err)
			}
			c := d.(*Conn)
			time.Sleep(time.Second)
			if err := lossy.Set(link.ImpairConfig{Out: link.Impairment{Loss: 1}}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			before := c.Unacknowledged()
			end(stacks[0], c)
			if after := c.Unacknowledged(); before != 1000 || after != 1000 {
				t.Errorf("%s: got %d unacknowledged bytes before the end and %d after it, want 1,000", name, before, after)
			}
		})
	}
}
