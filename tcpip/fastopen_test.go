package tcpip

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// farDelay is how long a packet takes between the two stacks of far.
const farDelay = 50 * time.Millisecond

// far returns two stacks that know each other's hardware addresses, on a link with a delay.
func far(t *testing.T, c Config) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	for i, l := range []*link.Link{&la, &lb} {
		delayed, err := link.Impair(*l, link.ImpairConfig{Out: link.Impairment{Delay: farDelay}, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		*l = delayed
	}
	c.Link, c.Addrs = la, prefixes("10.0.0.1/24", "fd00::1/64")
	a = stack(t, c)
	c.Link, c.Addrs = lb, prefixes("10.0.0.2/24", "fd00::2/64")
	b = stack(t, c)
	time.Sleep(10 * time.Second) // the addresses are probed
	for _, to := range []string{"10.0.0.2", "fd00::2"} {
		if _, err := a.Ping(t.Context(), netip.MustParseAddr(to), 0); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// listenFast listens with Fast Open.
func listenFast(t *testing.T, s *Stack, address string, limit int) *Listener {
	t.Helper()
	l, err := (&ListenConfig{Stack: s, FastOpen: limit}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*Listener)
}

// dialFast dials with Fast Open.
func dialFast(t *testing.T, s *Stack, address string) *Conn {
	t.Helper()
	c, err := (&Dialer{Stack: s, FastOpen: true}).Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Conn)
}

// echoes serves every connection of a listener: it sends back what comes, until the end.
func echoes(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { // until the client closes
			io.Copy(c, c) //nolint:errcheck // the client sees it
			c.Close()
		}()
	}
}

// exchangeFast writes 100 bytes, reads them back, and returns how long that took since begun.
func exchangeFast(t *testing.T, c *Conn, begun time.Time) time.Duration {
	t.Helper()
	if _, err := c.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

// The second connection to a server takes one round trip for a request and its response: the SYN
// carries the request (RFC 7413, section 3).
func TestFastOpenSavesARoundTrip(t *testing.T) {
	for _, address := range []string{"10.0.0.2:80", "[fd00::2]:80"} {
		synctest.Test(t, func(t *testing.T) {
			a, b := far(t, Config{})
			l := listenFast(t, b, ":80", 8)
			defer l.Close()
			go echoes(l)
			for i, want := range []time.Duration{4 * farDelay, 2 * farDelay, 2 * farDelay} {
				begun := time.Now()
				c := dialFast(t, a, address)
				if i > 0 && (time.Since(begun) != 0 || c.Info().State != tcp.SynSent) {
					t.Errorf("%s, Dial %d took %v and its connection is %v; want it to return at once, in SYN-SENT", address, i, time.Since(begun), c.Info().State)
				}
				if took := exchangeFast(t, c, begun); took < want || took >= want+farDelay/2 {
					t.Errorf("%s, exchange %d took %v, want %v", address, i, took, want)
				}
				if n, want := c.Info().SYNData, 100*min(i, 1); n != want {
					t.Errorf("%s, connection %d: got %d bytes of acknowledged SYN data, want %d", address, i, n, want)
				}
				c.Close()
			}
		})
	}
}

// The application has a connection and its data before the handshake is complete, and can close it
// then (RFC 7413, section 4.2.2).
func TestFastOpenAcceptsBeforeTheHandshakeIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		l := listenFast(t, b, ":80", 1)
		defer l.Close()
		go dialFast(t, a, "10.0.0.2:80").Close() // for the cookie
		if c, err := l.Accept(); err != nil || c.(*Conn).Info().State == tcp.SynReceived {
			t.Fatalf("the first connection: got error %v, want one with a complete handshake", err)
		} else {
			c.Close()
		}
		c := dialFast(t, a, "10.0.0.2:80")
		c.Write(make([]byte, 100)) //nolint:errcheck // the other end sees it
		begun := time.Now()
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if i := d.(*Conn).Info(); i.State != tcp.SynReceived || i.Unread != 100 || i.SYNData != 100 || time.Since(begun) != farDelay {
			t.Errorf("after %v: got a connection in %v with %d bytes to read, %d of SYN data; want SYN-RECEIVED, 100 and 100 after %v", time.Since(begun), i.State, i.Unread, i.SYNData, farDelay)
		}
		if infos := b.Listeners(); infos[0].Opening != 1 {
			t.Errorf("got %d handshakes, want 1", infos[0].Opening)
		}
		d.Read(make([]byte, 100))       //nolint:errcheck // they are there
		d.Write([]byte("early answer")) //nolint:errcheck // the other end sees it
		d.Close()
		if got, err := io.ReadAll(c); err != nil || string(got) != "early answer" {
			t.Errorf("got %q, error %v; want the early answer and its end", got, err)
		}
		c.Close()
		time.Sleep(time.Second)
		if infos := b.Listeners(); infos[0].Opening != 0 || infos[0].FastOpen != 0 {
			t.Errorf("got %d handshakes, %d of them with Fast Open, after the end; want none", infos[0].Opening, infos[0].FastOpen)
		}
	})
}

// Without the option of the listener or the dialer, there is no Fast Open.
func TestFastOpenIsOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		off, on := listen(t, b, ":80"), listenFast(t, b, ":81", 8)
		defer on.Close()
		go echoes(off)
		go echoes(on)
		for range 2 {
			c := dialFast(t, a, "10.0.0.2:80")
			if state := c.Info().State; state != tcp.Established {
				t.Errorf("a listener without Fast Open: got the state %v after Dial, want ESTABLISHED", state)
			}
			c.Close()
			d := dial(t, a, "tcp", "10.0.0.2:81").(*Conn)
			if state := d.Info().State; state != tcp.Established {
				t.Errorf("a dialer without Fast Open: got the state %v after Dial, want ESTABLISHED", state)
			}
		}
	})
}

// A Read, a CloseWrite and a Close before the first Write: the first two send the SYN alone, and
// nothing needs to be sent for the third.
func TestFastOpenWithoutAFirstWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		l := listenFast(t, b, ":80", 8)
		defer l.Close()
		met := make(chan *Conn, 8) // the server -> here
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Write([]byte("hello")) //nolint:errcheck // the client sees it
				met <- c.(*Conn)
			}
		}()
		first := dialFast(t, a, "10.0.0.2:80")
		(<-met).Close()
		first.Close()
		reads := dialFast(t, a, "10.0.0.2:80")
		begun := time.Now()
		if n, err := reads.Read(make([]byte, 10)); n != 5 || err != nil || time.Since(begun) >= 3*farDelay {
			t.Errorf("Read before Write: got %d bytes, error %v, after %v; want 5 after a round trip", n, err, time.Since(begun))
		}
		(<-met).Close()
		reads.Close()
		ends := dialFast(t, a, "10.0.0.2:80")
		ends.CloseWrite() //nolint:errcheck // it is open
		if _, err := io.Copy(io.Discard, <-met); err != nil {
			t.Errorf("CloseWrite before Write: the server got %v, want the end of the stream", err)
		}
		ends.Close()
		dialFast(t, a, "10.0.0.2:80").Close()
		time.Sleep(time.Second)
		if len(met) != 0 {
			t.Error("Close before Write opened a connection at the server, want none")
		}
	})
}

// A client that writes and closes before the handshake is complete: all data and the end arrive.
func TestFastOpenCloseSendsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		l := listenFast(t, b, ":80", 8)
		defer l.Close()
		for range 2 {
			c := dialFast(t, a, "10.0.0.2:80")
			if _, err := c.Write(make([]byte, 20_000)); err != nil {
				t.Fatal(err)
			}
			c.Close()
			d, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(d); err != nil || len(got) != 20_000 {
				t.Errorf("the server got %d bytes, error %v; want 20000 and the end", len(got), err)
			}
			d.Close()
		}
	})
}

// A session gets the data of the SYN, and its answer leaves before the handshake is complete.
func TestASessionGetsTheDataOfTheSYN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		v, err := (&ListenConfig{Stack: b, FastOpen: 4}).Serve(":80", serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}, serve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		for _, want := range []time.Duration{4 * farDelay, 2 * farDelay} {
			begun := time.Now()
			c := dialFast(t, a, "10.0.0.2:80")
			if took := exchangeFast(t, c, begun); took < want || took >= want+farDelay/2 {
				t.Errorf("the exchange took %v, want %v", took, want)
			}
			c.Close()
		}
	})
}

// An error of the handshake is that of the next call, and disables Fast Open for the server.
func TestFastOpenReportsErrorsOfTheHandshakeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := far(t, Config{})
		l := listenFast(t, b, ":80", 8)
		c := dialFast(t, a, "10.0.0.2:80")
		c.Close()
		l.Close()
		c = dialFast(t, a, "10.0.0.2:80")
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatalf("the first Write: got %v, want no error yet", err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Read: got %v, want ECONNREFUSED", err)
		}
		c.Close()
		if _, err := (&Dialer{Stack: a, FastOpen: true}).Dial("tcp", "10.0.0.2:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the next Dial: got %v, want ECONNREFUSED from an ordinary handshake (RFC 7413, section 4.1.3.1)", err)
		}
	})
}

// grantedCookie is the result of a handshake that has granted a cookie.
var grantedCookie = tcp.FastOpenResult{Cookie: wire.FastOpenCookie{Length: 8}, MSS: 1460}

// The cache forgets the server that was not used for the longest time, and a negative response
// disables a server for a time that doubles.
func TestTheFastOpenCacheIsBounded(t *testing.T) {
	var f fastOpenCache
	server := func(i int) fastOpenServer {
		return fastOpenServer{stackAddr, netip.AddrPortFrom(bareAddr, uint16(i))}
	}
	for i := range maxFastOpenEntries {
		f.learn(server(i), grantedCookie, 1)
	}
	f.lookup(server(0), 1)
	f.learn(server(maxFastOpenEntries), grantedCookie, 1)
	if n := len(f.entries); n != maxFastOpenEntries || f.byUse.Len() != n {
		t.Errorf("got %d entries, %d in order, want %d", n, f.byUse.Len(), maxFastOpenEntries)
	}
	for i, want := range map[int]uint8{0: 8, 1: 0, 2: 8, maxFastOpenEntries: 8} {
		if known, use := f.lookup(server(i), 1); known.Cookie.Length != want || !use {
			t.Errorf("server %d: got a cookie of %d bytes, use %t; want %d and true", i, known.Cookie.Length, use, want)
		}
	}
	now := tcp.Time(time.Hour)
	for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		f.learn(server(0), tcp.FastOpenResult{Negative: true}, now)
		if _, use := f.lookup(server(0), now.Add(pause-1)); use {
			t.Errorf("Fast Open is used within %v of a negative response, want not", pause)
		}
		now = now.Add(pause)
		if known, use := f.lookup(server(0), now); !use || known.Cookie.Length != 8 {
			t.Errorf("%v after a negative response: got use %t and a cookie of %d bytes, want true and 8", pause, use, known.Cookie.Length)
		}
	}
	f.learn(server(0), grantedCookie, now)
	f.learn(server(0), tcp.FastOpenResult{Negative: true}, now)
	if _, use := f.lookup(server(0), now.Add(time.Minute)); !use {
		t.Error("after a success the pause is not a minute again")
	}
}

// A Dial with a context that has ended fails, with a cookie or without.
func TestFastOpenHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := far(t, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := (&Dialer{Stack: a, FastOpen: true}).DialContext(ctx, "tcp", "10.0.0.99:80"); err == nil {
			t.Error("got a connection to a host that does not exist, want an error")
		}
		if n := len(a.Connections()); n != 0 {
			t.Errorf("%d connections are left, want none", n)
		}
	})
}
