package tcpip

import (
	"io"
	"maps"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/tcpip/tcp"
)

func TestConnectionsListenersAndNeighboursAreListed(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	l := listen(t, b, "10.0.0.2:80")
	c := dial(t, a, "tcp", "10.0.0.2:80")
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	eventually(t, func() bool { return len(b.Connections()) == 1 && b.Connections()[0].Unread == 5 })
	got := b.Connections()[0]
	if got.Local.String() != "10.0.0.2:80" || got.Remote.String() != c.LocalAddr().String() || got.State != tcp.Established || got.CongestionWindow == 0 || got.MSS != 1448 || got.RTO == 0 {
		t.Errorf("got the connection %+v, want 10.0.0.2:80 with %v, ESTABLISHED, MSS 1448, with a congestion window and an RTO", got, c.LocalAddr())
	}
	eventually(t, func() bool { return a.Connections()[0].InFlight == 0 && a.Connections()[0].RTT > 0 })
	waiting := dial(t, a, "tcp", "10.0.0.2:80")
	eventually(t, func() bool { ls := b.Listeners(); return len(ls) == 1 && ls[0].Waiting == 1 })
	if got := b.Listeners()[0]; got.Local.String() != "10.0.0.2:80" || got.Backlog != 1024 {
		t.Errorf("got the listener %+v, want 10.0.0.2:80 with a backlog of 1024", got)
	}
	waiting.Close()
	if ns := a.Neighbours(); len(ns) != 1 || ns[0].Interface != "link" || ns[0].Addr.String() != "10.0.0.2" || ns[0].MAC != b.ifaces[0].caps.MAC || ns[0].State != neigh.Reachable {
		t.Errorf("got the neighbours %+v, want only the reachable 10.0.0.2 at %v", ns, b.ifaces[0].caps.MAC)
	}
	if i := a.Interfaces(); len(i) != 2 || i[0].Counters.Sent == 0 || i[0].Counters.Received == 0 || i[1].Name != "lo" {
		t.Errorf("got the interfaces %+v, want the link with its frames counted, and lo", i)
	}
}

// Bytes for which the peer's window has no room are unacknowledged until the peer reads.
func TestUnacknowledgedCountsWhatThePeerHasNotTaken(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	l := listen(t, b, "10.0.0.2:80")
	c := dial(t, a, "tcp", "10.0.0.2:80").(*Conn)
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := c.Unacknowledged(); got != 0 {
		t.Errorf("got %d unacknowledged bytes before the first Write, want none", got)
	}
	const size = 32 << 20
	written := make(chan error, 1) // the writer -> here: one value
	go func() { _, err := c.Write(make([]byte, size)); written <- err }()
	eventually(t, func() bool { return c.Unacknowledged() > 0 && c.Info().SendWindow == 0 })
	if _, err := io.CopyN(io.Discard, d, size); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return c.Unacknowledged() == 0 })
}

func TestRoutesSocketsAndDropsAreListed(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	if r := a.Routes(); len(r) != 3 || r[0].To.String() != "10.0.0.0/24" || r[0].Interface != "link" || r[0].Source.String() != "10.0.0.1" || r[1].Interface != "lo" {
		t.Errorf("got the routes %+v, want 10.0.0.0/24 by the link from 10.0.0.1, and the loopback's", r)
	}
	u, err := b.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	c := dial(t, a, "udp", "10.0.0.2:53")
	for range 3 {
		c.Write([]byte("four")) //nolint:errcheck // the test checks what arrives
	}
	eventually(t, func() bool { s := b.Sockets(); return len(s) == 1 && s[0].Waiting == 3 })
	if got := a.Sockets(); len(got) != 1 || got[0].Remote.String() != "10.0.0.2:53" {
		t.Errorf("got the sockets %+v, want one to 10.0.0.2:53", got)
	}
	dial(t, a, "udp", "10.0.0.2:54").Write([]byte("unread")) //nolint:errcheck // the test checks its effect
	eventually(t, func() bool { return maps.Collect(b.Drops())[DropUDPPort] == 1 })
	if held, most := a.Memory(); held != 0 || most != 256<<20 {
		t.Errorf("got %d bytes held, %d at most; want 0 and %d", held, most, 256<<20)
	}
}

// eventually waits until a condition is true.
func eventually(t testing.TB, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition was not true within 30 s, want it true")
		}
	}
}
