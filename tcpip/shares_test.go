package tcpip

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// strangers returns a stack of three addresses, and one at 10.0.0.2 with the config.
func strangers(t *testing.T, c Config) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Depth: 10_000})
	c.Link, c.Addrs = lb, prefixes("10.0.0.2/24")
	return stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.3/24", "10.0.0.4/24")}), stack(t, c)
}

// opens dials port 80 of 10.0.0.2 n times from an address, and returns how many connections opened.
func opens(t *testing.T, a *Stack, from string, n int) (open int) {
	d := &Dialer{Stack: a, LocalAddr: netip.AddrPortFrom(netip.MustParseAddr(from), 0)}
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		c, err := d.DialContext(ctx, "tcp", "10.0.0.2:80")
		cancel()
		if err == nil {
			t.Cleanup(func() { c.Close() })
			open++
		}
	}
	return open
}

// acceptAll keeps all connections that come to port 80 of a stack.
func acceptAll(t *testing.T, s *Stack) {
	l := listen(t, s, ":80")
	done := make(chan struct{}) // closed when the listener is
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// One address opens at most as many connections as it leaves free, and then fewer and fewer.
func TestOneAddressDoesNotTakeAllConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := strangers(t, Config{Connections: 120})
		acceptAll(t, b)
		for _, c := range []struct {
			from string
			want int
		}{{"10.0.0.1", 60}, {"10.0.0.3", 30}, {"10.0.0.4", 16}} {
			if got := opens(t, a, c.from, 70); got != c.want {
				t.Errorf("%s opens %d of 120 connections, want %d", c.from, got, c.want)
			}
		}
	})
}

// An address's share is free again when its connections have ended.
func TestTheShareOfAnAddressIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := strangers(t, Config{Connections: 40})
		acceptAll(t, b)
		if got := opens(t, a, "10.0.0.1", 30); got != 20 {
			t.Errorf("of 40 connections one address opens %d, want 20", got)
		}
		for _, c := range a.conns.all() {
			c.abort()
		}
		time.Sleep(time.Second)
		if got := opens(t, a, "10.0.0.1", 30); got != 20 {
			t.Errorf("once they have ended it opens %d, want 20", got)
		}
	})
}

// The host itself has no share: it opens as many connections to itself as there may be.
func TestTheHostItselfHasNoShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := strangers(t, Config{Connections: 80})
		acceptAll(t, b)
		for i := range 40 { // each counts at both ends
			c, err := b.Dial("tcp", []string{"127.0.0.1:80", "10.0.0.2:80"}[i%2])
			if err != nil {
				t.Fatalf("connection %d of 40 to the host itself: got error %v, want none: the host has no share", i+1, err)
			}
			defer c.Close()
		}
	})
}

// One address does not fill the queue of connections that wait for Accept.
func TestOneAddressDoesNotFillTheAcceptQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := strangers(t, Config{Backlog: 8})
		l := listen(t, b, ":80")
		defer l.Close()
		opens(t, a, "10.0.0.1", 30)
		opens(t, a, "10.0.0.3", 1)
		synctest.Wait()
		got := map[string]int{}
		for range len(l.(*Listener).acceptQueue) {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			got[host]++
			c.Close()
		}
		if got["10.0.0.1"] != 8 || got["10.0.0.3"] != 1 {
			t.Errorf("the queue has %v, want 8 connections of 10.0.0.1 and 1 of 10.0.0.3", got)
		}
	})
}

// One address does not fill a socket's queue of datagrams.
func TestOneAddressDoesNotFillAReceiveQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := strangers(t, Config{})
		p, err := b.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, from := range []string{"10.0.0.1", "10.0.0.3"} {
			c, err := (&Dialer{Stack: a, LocalAddr: netip.MustParseAddrPort(from + ":0")}).Dial("udp", "10.0.0.2:53")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 600 {
				if _, err := c.Write(make([]byte, 1000)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		waiting, _, _ := p.(*UDPConn).usage()
		got := map[string]int{}
		for range waiting {
			_, from, err := p.ReadFrom(make([]byte, 1))
			if err != nil {
				t.Fatal(err)
			}
			got[from.(*net.UDPAddr).IP.String()]++
		}
		if first, second := got["10.0.0.1"], got["10.0.0.3"]; first < 200 || second < 100 {
			t.Errorf("%d and %d datagrams of two addresses wait, want 200 and 100 or more", first, second)
		}
	})
}

// The addresses of an IPv6 /64 network are one client, each IPv4 address is one, and this host is
// none.
func TestWhatCountsAsOneClient(t *testing.T) {
	for _, c := range []struct{ addr, want string }{
		{"192.0.2.7", "192.0.2.7"}, {"::ffff:192.0.2.7", "192.0.2.7"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"}, {"127.0.0.9", ""}, {"::1", ""},
	} {
		want, _ := netip.ParseAddr(c.want)
		if got := clientOf(netip.MustParseAddr(c.addr)); got != want {
			t.Errorf("%s counts as %v, want %v", c.addr, got, want)
		}
	}
}
