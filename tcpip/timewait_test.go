package tcpip

import (
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// nth is one of many names.
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

// What a connection in TIME-WAIT holds is small; when its time is over, it is gone by itself.
func TestManyInTimeWait(t *testing.T) {
	const many, each = 100_000, 180
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := tcp.Config{}.WithDefaults()
		before := heap()
		for i := range many {
			s.waits.add(nth(i), &cfg, tcp.Wait{Until: s.now().Add(time.Minute)})
		}
		if used := (heap() - before) / many; used > each {
			t.Errorf("each holds %d bytes, more than %d", used, each)
		} else {
			t.Logf("each holds %d bytes", used)
		}
		time.Sleep(30 * time.Second)
		fin := tcp.Segment{Flags: wire.FIN | wire.ACK, Seq: ^wire.Seq(0)}
		if taken, _ := s.waits.arrive(nth(7), &fin, true, s.now()); !taken {
			t.Error("a FIN that came again was not taken")
		}
		time.Sleep(32 * time.Second)
		if n, _ := s.Waiting(); n != 1 {
			t.Errorf("%d are left behind a minute, and one of them began anew", n)
		}
		time.Sleep(30 * time.Second)
		if n, forgotten := s.Waiting(); n != 0 || forgotten != 0 || s.waits.of != nil || s.waits.order != nil {
			t.Errorf("%d are left, %d were forgotten", n, forgotten)
		}
	})
}

// There is a bound on how many: of more, the oldest are forgotten.
func TestTooManyInTimeWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Waiting: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := tcp.Config{}.WithDefaults()
		for i := range 5000 {
			s.waits.add(nth(i), &cfg, tcp.Wait{Until: s.now().Add(time.Minute)})
		}
		if n, forgotten := s.Waiting(); n != 1000 || forgotten != 4000 {
			t.Errorf("there are %d, and %d were forgotten", n, forgotten)
		}
		if free, _ := s.waits.free(nth(4000), false, s.now()); free {
			t.Error("one of the last thousand was forgotten")
		}
		if free, _ := s.waits.free(nth(3999), false, s.now()); !free {
			t.Error("an older one was not forgotten")
		}
	})
}

// Names of connections in TIME-WAIT can be used again: by a peer at once, when its timestamps are later (RFC 6191), and from here when no name is left.
func TestTimeWaitMakesRoom(t *testing.T) {
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
		if n, _ := b.Waiting(); n != 1 || len(a.Connections()) != 0 || len(b.conns.all()) != 0 {
			t.Fatalf("%d wait, %d connections are left", n, len(b.conns.all()))
		}
		k := tuple{netip.MustParseAddrPort("10.0.0.2:80"), local}
		syn := tcp.Segment{Flags: wire.SYN, Seq: 1}
		_, skew := a.iss(tuple{local, k.local})
		stamp := wire.Stamp(uint32(a.now()/1e6) + skew)
		syn.Options.Stamped, syn.Options.Stamp = true, stamp-1000
		if taken, _ := b.waits.arrive(k, &syn, true, b.now()); !taken {
			t.Error("a SYN with an older timestamp opens a connection")
		}
		syn.Options.Stamp = stamp + 1
		taken, follows := b.waits.arrive(k, &syn, true, b.now())
		if n, _ := b.Waiting(); taken || !follows.of || n != 0 {
			t.Error("a SYN with a later timestamp opens none")
		}
	})
}

func host(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
