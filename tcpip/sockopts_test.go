package tcpip

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Options of Dialer and ListenConfig hold before the SYN: the peer knows them from it.
func TestOptionsHoldBeforeTheSYN(t *testing.T) {
	small := func(c *tcp.Config) { c.MSS, c.ReceiveBuffer = 700, tcp.BufferRange{Initial: 8 << 10, Max: 8 << 10} }
	for _, c := range []struct {
		name           string
		dial, listen   func(*tcp.Config)
		client, server int // MSS of what each sends
	}{
		{"neither", nil, nil, 1460, 1460},
		{"the dialer", small, nil, 700, 700},
		{"the listener", nil, small, 700, 700},
		{"larger than the link's", func(c *tcp.Config) { c.MSS = 9000 }, nil, 1460, 1460},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				la, lb := link.Pair(link.PairConfig{})
				x, y := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
				l, err := (&ListenConfig{Stack: y, Configure: c.listen, TOS: 0x48, Backlog: 3}).Listen(t.Context(), "tcp", ":80")
				if err != nil {
					t.Fatal(err)
				}
				client, err := (&Dialer{Stack: x, Configure: c.dial}).Dial("tcp", "10.0.0.2:80")
				if err != nil {
					t.Fatal(err)
				}
				server, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				a, b := client.(*Conn).Info(), server.(*Conn).Info()
				if a.MSS != c.client-12 || b.MSS != c.server-12 {
					t.Errorf("got the MSS %d and %d, want %d and %d less 12 for timestamps", a.MSS, b.MSS, c.client, c.server)
				}
				if c.dial != nil && c.client == 700 && b.SendWindow > 8<<10 {
					t.Errorf("the client's receive buffer is 8 KiB, its SYN and ACK offer %d bytes", b.SendWindow)
				}
				if got := y.Listeners()[0].Backlog; got != 3 || server.(*Conn).tos != 0x48 {
					t.Errorf("got the backlog %d and the TOS %#x, want 3 and 0x48", got, server.(*Conn).tos)
				}
			})
		})
	}
}

// A listener with options of its own announces the MSS of the MTU that the link has now.
func TestSetMTUHoldsForAListenerWithOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		x, y := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
		set := func(mtu int) {
			if err := y.SetMTU("link", mtu); err != nil {
				t.Fatal(err)
			}
		}
		set(1000)
		if _, err := (&ListenConfig{Stack: y, KeepAlive: time.Minute}).Listen(t.Context(), "tcp", ":80"); err != nil {
			t.Fatal(err)
		}
		for _, mtu := range []int{600, 1500} {
			set(mtu)
			c := dial(t, x, "tcp", "10.0.0.2:80").(*Conn)
			if got, want := c.Info().MSS, mtu-40-12; got != want {
				t.Errorf("MTU %d: got an MSS of %d at the client, want %d", mtu, got, want)
			}
		}
	})
}

// Keep-alive options of ListenConfig are those of net.ListenConfig.
func TestListenConfigKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		x, y := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
		for want, o := range map[time.Duration]ListenConfig{
			15 * time.Second: {}, 0: {KeepAlive: -1}, time.Minute: {KeepAlive: time.Minute},
			time.Hour:     {KeepAlive: time.Minute, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Hour}},
			2 * time.Hour: {Configure: func(c *tcp.Config) { c.KeepAliveIdle = 2 * time.Hour }},
		} {
			o.Stack = y
			l, err := o.Listen(t.Context(), "tcp", ":80")
			if err != nil {
				t.Fatal(err)
			}
			dial(t, x, "tcp", "10.0.0.2:80")
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got := c.(*Conn).tcp.KeepAlive().Idle; got != want {
				t.Errorf("with %v, %+v: got probes after %v, want %v", o.KeepAlive, o.KeepAliveConfig, got, want)
			}
			l.Close()
		}
	})
}

// Enable turns probes on also where Config.TCP has turned them off, as SetKeepAlive does.
func TestKeepAliveConfigEnablesProbes(t *testing.T) {
	k := net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1, Count: -1}
	if got := wantedTCPConfig(&tcp.Config{}, 0, k, nil).KeepAliveIdle; got != keepIdle {
		t.Errorf("got probes after %v, want %v", got, keepIdle)
	}
}

func TestSetMaxSegmentLowersSegments(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		if err := a.SetMaxSegment(512); err != nil {
			t.Fatal(err)
		}
		if got := a.Info().MSS; got != 500 {
			t.Errorf("got an MSS of %d, want 512 less 12 for timestamps", got)
		}
		if err := a.SetMaxSegment(1); err != nil {
			t.Fatal(err)
		}
		sent := a.iface.link.Queue(0).Counters().Sent
		if _, err := a.Write(make([]byte, 760)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, make([]byte, 760)); err != nil {
			t.Fatal(err)
		}
		if n := a.iface.link.Queue(0).Counters().Sent - sent; n != 10 {
			t.Errorf("760 bytes in segments of at least 88: got %d frames, want 10 of 76 bytes and 12 of timestamps", n)
		}
		if err := a.SetMaxSegment(1400); err != nil || a.Info().MSS != 76 {
			t.Errorf("raising it: got %v and an MSS of %d, want no error and 76 as before", err, a.Info().MSS)
		}
	})
}

// At most so many bytes wait in the send buffer without having been sent.
func TestNotSentLowatLimitsWhatWaits(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		if err := a.SetNotSentLowat(10_000); err != nil {
			t.Fatal(err)
		}
		text := bytes.Repeat([]byte("0123456789"), 1<<18)
		written := make(chan error, 1) // from the writing goroutine, one
		go func() {
			_, err := a.Write(text)
			a.CloseWrite() //nolint:errcheck // Read sees it
			written <- err
		}()
		time.Sleep(time.Minute)
		if i := a.Info(); i.Unsent > 10_000 || i.SendWindow != 0 && i.InFlight == 0 {
			t.Errorf("a peer that does not read: got %+v, want at most 10,000 bytes unsent", i)
		}
		if got, err := io.ReadAll(b); !bytes.Equal(got, text) || err != nil {
			t.Errorf("the peer got %d bytes, %v; want %d", len(got), err, len(text))
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

func TestWriteMoreWaitsForTheNextWrite(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		p, begun := make([]byte, 100), time.Now()
		a.WriteMore([]byte("head ")) //nolint:errcheck // Read sees it
		a.Write([]byte("body"))      //nolint:errcheck // Read sees it
		if n, _ := b.Read(p); string(p[:n]) != "head body" || time.Since(begun) > 10*time.Millisecond {
			t.Errorf("WriteMore and Write: the peer read %q after %v, want both at once", p[:n], time.Since(begun))
		}
		begun = time.Now()
		a.WriteMore([]byte("alone")) //nolint:errcheck // Read sees it
		if n, _ := b.Read(p); string(p[:n]) != "alone" || time.Since(begun) < 100*time.Millisecond || time.Since(begun) > time.Second {
			t.Errorf("WriteMore alone: the peer read %q after %v, want it after about 200 ms", p[:n], time.Since(begun))
		}
		a.WriteMore([]byte("last")) //nolint:errcheck // Read sees it
		a.CloseWrite()              //nolint:errcheck // Read sees it
		if got, _ := io.ReadAll(b); string(got) != "last" {
			t.Errorf("WriteMore and CloseWrite: got %q, want %q", got, "last")
		}
	})
}

func TestPeekLeavesTheBytes(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		time.AfterFunc(time.Second, func() { a.Write([]byte("hello")) })
		p := make([]byte, 3)
		for range 2 {
			if n, err := b.Peek(p); string(p[:n]) != "hel" || err != nil {
				t.Errorf("got %q, %v; want %q", p[:n], err, "hel")
			}
		}
		a.Close()
		if got, err := io.ReadAll(b); string(got) != "hello" || err != nil {
			t.Errorf("after Peek: read %q, %v; want all", got, err)
		}
		if _, err := b.Peek(p); err != io.EOF {
			t.Errorf("at the end: got %v, want io.EOF", err)
		}
		b.SetReadDeadline(time.Now().Add(-1)) //nolint:errcheck // it is open
		if _, err := b.Peek(p); !isTimeout(err) {
			t.Errorf("after the deadline: got %v, want a timeout", err)
		}
	})
}

func TestInfoCountsTheConnectionsBytes(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		go a.Write(make([]byte, 1<<20)) //nolint:errcheck // ReadFull sees it
		if _, err := io.ReadFull(b, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		i, j := a.Info(), b.Info()
		if i.Acked != 1<<20 || j.Received != 1<<20 || j.Acked != 0 || i.Received != 0 || i.InFlight != 0 || i.Unsent != 0 {
			t.Errorf("a MiB in one direction: got %+v and %+v, want it acked and received", i, j)
		}
		if i.RTT == 0 || i.MinRTT == 0 || i.MinRTT > i.RTT+i.RTTVar || i.RTO < minWantedRTO || i.CongestionWindow < 10*i.MSS || i.SlowStartThreshold != 0 || i.SinceSent < time.Second || j.SinceReceived < time.Second {
			t.Errorf("got %+v, want round-trip times, a window of at least 10 segments and a second since the last segment", i)
		}
		if i.Local != netip.MustParseAddrPort(a.LocalAddr().String()) || i.State != tcp.Established {
			t.Errorf("got %v in %v, want %v, established", i.Local, i.State, a.LocalAddr())
		}
	})
}

// minWantedRTO is the minimum of the retransmission timeout.
const minWantedRTO = 200 * time.Millisecond

// Probing for addresses takes seconds: it ends with its context.
func TestProbingCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		defer lb.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		s, err := NewContext(ctx, Config{Link: la, Addrs: prefixes("10.0.0.1/24"), ProbeAddrs: true})
		if s != nil || err == nil || time.Since(begun) != time.Second {
			t.Errorf("got %v, %v after %v, want the context's error after a second", s, err, time.Since(begun))
		}
	})
}
