package tcpip

import (
	"bytes"
	"io"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// relay moves frames from one queue to another, each after a delay, until a link is closed.
func relay(from, to link.Queue, delay time.Duration) {
	var batch [1]link.Frame
	for {
		n, err := from.Read(batch[:], -1)
		if err != nil {
			return
		}
		time.Sleep(delay)
		if n == 1 {
			link.WriteWaiting(to, &link.Parts{Head: batch[0].Bytes, Offload: batch[0].Offload}, nil)
		}
	}
}

// Connections wait for a slow link that asks for it: nothing is lost, and nothing is sent again.
func TestConnectionsWaitForASlowLink(t *testing.T) {
	for _, medium := range []link.Medium{link.Ethernet, link.IP} {
		synctest.Test(t, func(t *testing.T) {
			c := link.PairConfig{Medium: medium, Superframe: 65535, Checksum: true, Buffer: 64 << 10}
			la, ours := link.Pair(c)
			theirs, lb := link.Pair(c)
			a, b := bulkHost(t, la, "10.0.0.1/24"), bulkHost(t, lb, "10.0.0.2/24")
			var relays sync.WaitGroup
			relays.Go(func() { relay(ours.Queue(0), theirs.Queue(0), time.Millisecond) })
			relays.Go(func() { relay(theirs.Queue(0), ours.Queue(0), 0) })
			sendBulk(t, a, b)
			if n := a.Retransmitted(); n != 0 {
				t.Errorf("%d segments were sent again, want none", n)
			}
			if dropped := la.Queue(0).Counters().Dropped; dropped != [link.Drops]uint64{} {
				t.Errorf("dropped %v, want nothing", dropped)
			}
			ours.Close()
			theirs.Close()
			relays.Wait()
		})
	}
}

func bulkHost(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// sendBulk sends data from a to b by many connections at once.
func sendBulk(t *testing.T, a, b *Stack) {
	l := listen(t, b, ":80")
	sent := bytes.Repeat([]byte("weir"), 200_000)
	var conns sync.WaitGroup
	for range 20 {
		conns.Go(func() {
			c, err := a.Dial("tcp", "10.0.0.2:80")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if _, err := c.Write(sent); err != nil {
				t.Error(err)
			}
		})
		conns.Go(func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes arrived, and %v; want the %d that were sent", len(got), err, len(sent))
			}
		})
	}
	conns.Wait()
	l.Close()
}
