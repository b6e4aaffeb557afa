package tcpip

import (
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// nth returns one of many tuples.
func nth(i int) tuple {
	remote := netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)})
	return tuple{netip.MustParseAddrPort("10.0.0.1:80"), netip.AddrPortFrom(remote, 7777)}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A connection in TIME-WAIT takes little memory, and is removed when its time is over.
func TestManyInTimeWaitTakeLittleMemory(t *testing.T) {
	const many, each = 100_000, 200
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := tcp.Config{}.WithDefaults()
		before := heap()
		for i := range many {
			s.timeWaits.add(nth(i), &cfg, tcp.TimeWaitConn{ExpiresAt: s.now().Add(time.Minute)})
		}
		if used := (heap() - before) / many; used > each {
			t.Errorf("a connection in TIME-WAIT holds %d bytes, want at most %d", used, each)
		} else {
			t.Logf("each holds %d bytes", used)
		}
		time.Sleep(30 * time.Second)
		fin := tcp.Segment{Flags: wire.FIN | wire.ACK, Seq: ^wire.Seq(0)}
		if taken, _ := s.timeWaits.receiveSegment(nth(7), &fin, true, s.now()); !taken {
			t.Error("a retransmitted FIN was not handled by TIME-WAIT, want it acknowledged (RFC 9293, section 3.10.7.4)")
		}
		time.Sleep(32 * time.Second)
		if n, _ := s.TimeWaits(); n != 1 {
			t.Errorf("after a minute: got %d in TIME-WAIT, want only the one that a FIN restarted", n)
		}
		time.Sleep(30 * time.Second)
		if n, forgotten := s.TimeWaits(); n != 0 || forgotten != 0 || s.timeWaits.entries != nil || s.timeWaits.expiry != nil {
			t.Errorf("after the last minute: got %d in TIME-WAIT, %d evicted, %d entries and %d expiries; want none, and no memory", n, forgotten, len(s.timeWaits.entries), len(s.timeWaits.expiry))
		}
	})
}

// The number of connections in TIME-WAIT is limited: the oldest are evicted.
func TestTimeWaitEvictsTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{MaxTimeWait: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := tcp.Config{}.WithDefaults()
		for i := range 5000 {
			s.timeWaits.add(nth(i), &cfg, tcp.TimeWaitConn{ExpiresAt: s.now().Add(time.Minute)})
		}
		if n, forgotten := s.TimeWaits(); n != 1000 || forgotten != 4000 {
			t.Errorf("got %d in TIME-WAIT and %d evicted, want 1000 and 4000", n, forgotten)
		}
		if free, _ := s.timeWaits.claimTuple(nth(4000), false, false, s.now()); free {
			t.Error("one of the last thousand was evicted, want the oldest evicted")
		}
		if free, _ := s.timeWaits.claimTuple(nth(3999), false, false, s.now()); !free {
			t.Error("an older one than the last thousand was not evicted, want it evicted")
		}
	})
}

// Tuples in TIME-WAIT can be reused: by a peer at once, if its timestamps are later (RFC 6191), and
// by a Dial if no other port is free.
func TestTuplesInTimeWaitAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a, b := host(t, la, "10.0.0.1/24"), host(t, lb, "10.0.0.2/24")
		defer a.Close()
		defer b.Close()
		l, err := b.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close() // first: b has the TIME-WAIT
			}
		}()
		talk := func() netip.AddrPort {
			c, err := a.Dial("tcp", "10.0.0.2:80")
			if err != nil {
				t.Fatal(err)
			}
			c.Read(make([]byte, 1)) //nolint:errcheck // the end
			c.Close()
			synctest.Wait()
			return c.(*Conn).key.local
		}
		local := talk()
		if n, _ := b.TimeWaits(); n != 1 || len(a.Connections()) != 0 || len(b.conns.all()) != 0 {
			t.Fatalf("got %d in TIME-WAIT and %d connections left, want 1 and 0", n, len(b.conns.all()))
		}
		k := tuple{netip.MustParseAddrPort("10.0.0.2:80"), local}
		syn := tcp.Segment{Flags: wire.SYN, Seq: 1}
		_, skew := a.initialSeq(tuple{local, k.local})
		stamp := wire.Timestamp(uint32(a.now()/1e6) + skew)
		syn.Options.HasTimestamps, syn.Options.TSVal = true, stamp-1000
		if taken, _ := b.timeWaits.receiveSegment(k, &syn, true, b.now()); !taken {
			t.Error("a SYN with an older timestamp opened a connection, want it handled by TIME-WAIT (RFC 6191)")
		}
		syn.Options.TSVal = stamp + 1
		taken, floor := b.timeWaits.receiveSegment(k, &syn, true, b.now())
		if n, _ := b.TimeWaits(); taken || !floor.valid || n != 0 {
			t.Errorf("a SYN with a later timestamp: got handled by TIME-WAIT: %t, a minimum for timestamps: %t, %d in TIME-WAIT; want a new connection with a minimum (RFC 6191)", taken, floor.valid, n)
		}
	})
}

// A stack that connects to itself does not run out of tuples, whichever end closes first. Both
// clocks are its own, so that a tuple can be reused in the next millisecond. The table of TIME-WAIT
// does not grow.
func TestTheLoopbackDoesNotRunOutOfTuples(t *testing.T) {
	many, few := 100_000, 20_000 // more than there are tuples
	if raced {
		many, few = 2000, 2000 // most tuples are in use
	}
	for who, many := range map[string]int{"the client closes first": many, "the server closes first": few, "both close at once": few} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				l := listen(t, s, "127.0.0.1:80")
				cfg := tcp.Config{}.WithDefaults()
				for port := uint16(firstPort); raced && port >= firstPort; port++ {
					if port%80 > 0 {
						k := tuple{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port), netip.MustParseAddrPort("127.0.0.1:80")}
						// without timestamps, so that the entry stays
						s.timeWaits.add(k, &cfg, tcp.TimeWaitConn{ExpiresAt: s.now().Add(time.Hour)})
					}
				}
				begun := time.Now()
				for i := range many {
					brief(t, s, l, who)
					if i%10 == 9 {
						time.Sleep(time.Millisecond)
					}
				}
				if took := time.Since(begun); took > time.Duration(many)*time.Millisecond/10 {
					t.Errorf("the connections took %v, want less than %v: SYNs were retransmitted", took, time.Duration(many)*time.Millisecond/10)
				}
				if n, _ := s.TimeWaits(); n > 2*portCount || len(s.timeWaits.expiry) > 2*n+1024 {
					t.Errorf("got %d in TIME-WAIT and %d entries of expiries, want at most %d and at most %d", n, len(s.timeWaits.expiry), 2*portCount, 2*n+1024)
				}
			})
		})
	}
}

// A retransmitted FIN was answered with the latest timestamp: the tuple is not free in that
// millisecond.
func TestATimestampSentInTimeWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		brief(t, s, listen(t, s, "127.0.0.1:80"), "the client closes first")
		synctest.Wait()
		all := s.Connections()
		if len(all) != 1 {
			t.Fatalf("got %d connections, want 1", len(all))
		}
		k := tuple{all[0].Local, all[0].Remote}
		time.Sleep(time.Second)
		fin := tcp.Segment{Flags: wire.FIN | wire.ACK}
		if taken, _ := s.timeWaits.receiveSegment(k, &fin, true, s.now()); !taken {
			t.Fatal("a retransmitted FIN was not handled by TIME-WAIT, want it acknowledged (RFC 9293, section 3.10.7.4)")
		}
		if free, _ := s.timeWaits.claimTuple(k, false, true, s.now()); free {
			t.Error("the tuple is free in the millisecond of its last timestamp, want it kept: PAWS needs a later one (RFC 7323, section 5)")
		}
		time.Sleep(time.Millisecond)
		if free, _ := s.timeWaits.claimTuple(k, false, true, s.now()); !free {
			t.Error("the tuple is not free a millisecond after its last timestamp, want it free (RFC 6191)")
		}
	})
}

// brief makes a connection that is closed as soon as it is established.
func brief(t *testing.T, s *Stack, l net.Listener, who string) {
	t.Helper()
	first, err := s.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if who == "the server closes first" {
		first, second = second, first
	}
	first.Close()
	if who != "both close at once" {
		synctest.Wait()
	}
	second.Close()
}

func host(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
