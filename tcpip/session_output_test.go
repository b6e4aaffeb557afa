package tcpip

import (
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
)

// talker is a session that answers every byte with a MiB, and reports its end to the test.
type talker struct{ ended chan<- error }

func (s talker) Input(in []byte, out *serve.Writer) error {
	for range in {
		out.Write(make([]byte, 1<<20))
	}
	return nil
}
func (talker) Wake(time.Time, *serve.Writer) error { return nil }
func (s talker) Close(err error)                   { s.ended <- err }

// talkers returns a stack with 8 MiB that serves such sessions, and a function that dials it from
// one of the addresses 10.0.0.1 to 10.0.0.9.
func talkers(t *testing.T) (b *Stack, ended chan error, open func(from string) net.Conn) {
	la, lb := link.Pair(link.PairConfig{})
	a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.3/24", "10.0.0.4/24", "10.0.0.5/24")})
	b = stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24"), Memory: 8 << 20})
	ended = make(chan error, 1000) // of each session once
	if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return talker{ended} }}, serve.Options{}); err != nil {
		t.Fatal(err)
	}
	return b, ended, func(from string) net.Conn {
		c, err := (&Dialer{Stack: a, LocalAddr: netip.AddrPortFrom(netip.MustParseAddr(from), 0)}).Dial("tcp", "10.0.0.2:7")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, ".") //nolint:errcheck // its answer is looked at
		return c
	}
}

// Waiting output of sessions counts against Config.Memory until the send buffer accepts it.
func TestUnsentOutputCountsAgainstMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, open := talkers(t)
		c := open("10.0.0.1")
		time.Sleep(time.Second)
		waits := 1<<20 - c.(*Conn).buffered() // in b's send buffer or waiting for it
		if held, _ := b.Memory(); held < waits {
			t.Errorf("the stack counts %d bytes of output, want at least the %d that wait to be sent", held, waits)
		}
		if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if held, _ := b.Memory(); held != 0 {
			t.Errorf("%d bytes are held when all is sent, want 0", held)
		}
	})
}

// Peers that read nothing of their answers use no more than Config.Memory, and one address no more
// than a quarter of it: further connections are reset.
func TestOneAddressDoesNotHoldAllMemoryOfOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ended, open := talkers(t)
		for range 50 {
			open("10.0.0.1")
			time.Sleep(100 * time.Millisecond)
			if held, most := b.Memory(); held > most {
				t.Fatalf("the stack holds %d bytes, want at most %d", held, most)
			}
		}
		if len(ended) < 40 {
			t.Errorf("of 50 sessions whose peers take nothing %d have ended, want 40 or more", len(ended))
		}
		for range len(ended) {
			if err := <-ended; !errors.Is(err, syscall.ENOBUFS) {
				t.Errorf("a session that there is no memory for ended by %v, want ENOBUFS", err)
			}
		}
		c := open("10.0.0.3")
		if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
			t.Errorf("a client at another address, which reads: got error %v, want its 1 MiB", err)
		}
	})
}

// The output of peers that have stalled for some seconds is evicted for a peer that reads. Their
// truncated streams end by a reset, not by a FIN.
func TestStalledOutputIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ended, open := talkers(t)
		var stalled []net.Conn
		for _, from := range []string{"10.0.0.1", "10.0.0.3", "10.0.0.4"} {
			for range 3 {
				stalled = append(stalled, open(from))
			}
		}
		time.Sleep(3 * time.Second)
		before := len(ended)
		for range 5 {
			c := open("10.0.0.5")
			if _, err := io.ReadFull(c, make([]byte, 1<<20)); err != nil {
				t.Fatalf("a client that reads while others stall: got error %v, want its 1 MiB", err)
			}
			c.Close()
		}
		time.Sleep(time.Second)
		if len(ended) == before {
			t.Error("no session was evicted, want some of the stalled ones")
		}
		reset := 0
		for _, c := range stalled {
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			n, err := io.ReadFull(c, make([]byte, 1<<20))
			if errors.Is(err, syscall.ECONNRESET) {
				reset++
			} else if err != nil {
				t.Errorf("a stalled client: got %d bytes and error %v, want all bytes or a reset", n, err)
			}
			c.Close()
		}
		if reset == 0 {
			t.Error("no stalled client was reset, want at least one")
		}
		time.Sleep(3 * time.Minute)
		if left := b.accounts(); left != (accounts{}) || len(b.outputAccount.perPeer) != 0 || b.outputAccount.byProgress.Len() != 0 {
			t.Errorf("when all are gone the stack holds %+v, and output for %d addresses, want nothing", left, len(b.outputAccount.perPeer))
		}
	})
}

// serve.Delivered knows what the peer of a session has acknowledged: the chat stores by it how far
// a device has read.
func TestSessionsKnowWhatThePeerHasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := hosts(t, link.PairConfig{})
		conns := make(chan serve.Conn, 1) // the stack -> this test
		if _, err := b.Serve(":7", serve.Service{Open: func(c serve.Conn) serve.Session {
			conns <- c
			return talker{make(chan error, 1)}
		}}, serve.Options{}); err != nil {
			t.Fatal(err)
		}
		c := dial(t, a, "tcp", "10.0.0.2:7")
		session := <-conns
		want := func(when string, wanted bool) {
			t.Helper()
			time.Sleep(time.Second)
			if _, acknowledged := serve.Delivered(session); acknowledged != wanted {
				t.Errorf("%s: got acknowledged %v, want %v", when, acknowledged, wanted)
			}
		}
		want("nothing was sent", true)
		const size = 16 << 20
		for range size >> 20 {
			io.WriteString(c, ".") //nolint:errcheck // its answer is looked at
		}
		want("the peer does not read", false)
		if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		want("the peer has read all", true)
		c.Close()
	})
}
