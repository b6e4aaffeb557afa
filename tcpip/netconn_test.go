package tcpip

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// The methods of package net's types that do not need a file descriptor.
var (
	_ interface {
		net.Conn
		io.ReaderFrom
		io.WriterTo
		CloseRead() error
		CloseWrite() error
		SetKeepAlive(bool) error
		SetKeepAliveConfig(net.KeepAliveConfig) error
		SetKeepAlivePeriod(time.Duration) error
		SetLinger(int) error
		SetNoDelay(bool) error
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	} = (*Conn)(nil)
	_ interface {
		net.Listener
		SetDeadline(time.Time) error
		AcceptTCP() (*Conn, error)
	} = (*Listener)(nil)
	_ interface {
		net.PacketConn
		net.Conn
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
		ReadFromUDP([]byte) (int, *net.UDPAddr, error)
		ReadFromUDPAddrPort([]byte) (int, netip.AddrPort, error)
		WriteToUDP([]byte, *net.UDPAddr) (int, error)
		WriteToUDPAddrPort([]byte, netip.AddrPort) (int, error)
	} = (*UDPConn)(nil)
)

func TestAcceptHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stack(t, Config{})
		l := listen(t, s, ":80").(*Listener)
		began := time.Now()
		l.SetDeadline(began.Add(time.Second)) //nolint:errcheck // it is open
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want a timeout after a second", err, time.Since(began))
		}
		l.SetDeadline(time.Time{}) //nolint:errcheck // as above
		go func() {
			time.Sleep(time.Minute)
			l.SetDeadline(time.Now()) //nolint:errcheck // as above
		}()
		if _, err := l.AcceptTCP(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("a call that waits: got %v after %v, want a timeout when the deadline is set", err, time.Since(began))
		}
		l.SetDeadline(time.Time{}) //nolint:errcheck // as above
		dial(t, s, "tcp", "127.0.0.1:80")
		c, err := l.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
		if err := l.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: got %v, want net.ErrClosed", err)
		}
	})
}

// After CloseRead nothing is read, and the peer can go on sending more than any window.
func TestCloseReadDiscardsWhatArrives(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	l := listen(t, b, ":80").(*Listener)
	c := dial(t, a, "tcp", "10.0.0.2:80").(*Conn)
	d, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.CloseRead(); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("got %d bytes, error %v, want the end", n, err)
	}
	if n, err := c.ReadFrom(io.LimitReader(zeros{}, 20<<20)); n != 20<<20 || err != nil {
		t.Errorf("the peer sent %d bytes, error %v, want all", n, err)
	}
	go io.WriteString(d, "answer") //nolint:errcheck // the peer checks
	expect(t, c, "", "answer")
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestWriteToAndReadFromCopyStreams(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	l := listen(t, b, ":80").(*Listener)
	c := dial(t, a, "tcp", "10.0.0.2:80").(*Conn)
	d, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text := strings.Repeat("a long text ", 100_000)
	go func() {
		c.ReadFrom(strings.NewReader(text)) //nolint:errcheck // the reader sees what is missing
		c.CloseWrite()                      //nolint:errcheck // as above
	}()
	var got bytes.Buffer
	if n, err := d.WriteTo(&got); n != int64(len(text)) || err != nil || got.String() != text {
		t.Errorf("got %d bytes, error %v, want the %d that were sent", n, err, len(text))
	}
}

func TestDatagramsByAddrPort(t *testing.T) {
	a, b := hosts6(t, RunChain, link.PairConfig{})
	listenAt := func(s *Stack) *UDPConn {
		c, err := s.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.(*UDPConn)
	}
	from, to := listenAt(a), listenAt(b)
	if _, err := from.WriteToUDPAddrPort([]byte("one"), netip.MustParseAddrPort("[2001:db8::2]:53")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10)
	n, sender, err := to.ReadFromUDPAddrPort(p)
	if err != nil || string(p[:n]) != "one" || sender.String() != "[2001:db8::1]:53" {
		t.Errorf("got %q from %v, error %v", p[:n], sender, err)
	}
	if _, err := to.WriteToUDP([]byte("two"), net.UDPAddrFromAddrPort(sender)); err != nil {
		t.Fatal(err)
	}
	if n, sender, err := from.ReadFromUDP(p); err != nil || string(p[:n]) != "two" || sender.String() != "[2001:db8::2]:53" {
		t.Errorf("got %q from %v, error %v", p[:n], sender, err)
	}
}

// OnReceive gives a function what has arrived before, and what arrives later.
func TestAFunctionReceivesDatagrams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a, b := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
		u, err := b.ListenPacket("udp", ":9")
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, a, "udp", "10.0.0.2:9")
		for _, text := range []string{"one", "two"} {
			c.Write([]byte(text)) //nolint:errcheck // what is received shows it
		}
		synctest.Wait()
		var got []string
		u.(*UDPConn).OnReceive(func(payload []byte, from netip.AddrPort) {
			got = append(got, string(payload))
			if from.Addr() != netip.MustParseAddr("10.0.0.1") {
				t.Errorf("got a datagram from %v, want 10.0.0.1", from)
			}
		})
		c.Write([]byte("three")) //nolint:errcheck // as above
		synctest.Wait()
		if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Buffers of a set size do not grow: a writer whose peer does not read stops when both are full.
func TestBuffersHaveTheSizeThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a, b := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
		l := listen(t, b, ":http")
		c := dial(t, a, "tcp", "10.0.0.2:80").(*Conn)
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		d.(*Conn).SetReadBuffer(200_000) //nolint:errcheck // it is open
		c.SetWriteBuffer(20_000)         //nolint:errcheck // it is open
		c.SetWriteDeadline(time.Now().Add(time.Minute))
		n, err := c.Write(make([]byte, 10<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < 150_000 || n > 220_000 {
			t.Errorf("%d bytes were written (%v) to a peer that does not read, want about 220,000: what both buffers take", n, err)
		}
		c.Close()
		d.Close()
		if err := c.SetReadBuffer(1 << 20); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed connection: got %v, want net.ErrClosed", err)
		}
	})
}

func TestPortsHaveNames(t *testing.T) {
	s := stack(t, Config{})
	for _, address := range []string{":http", "127.0.0.1:https"} {
		if l, err := s.Listen("tcp", address); err != nil {
			t.Errorf("%s: %v", address, err)
		} else {
			l.Close()
		}
	}
	for _, address := range []string{":no-such-service", ":65536", ":-1"} {
		if _, err := s.Listen("tcp", address); err == nil {
			t.Errorf("%s: it listens, want an error", address)
		}
	}
}

// A second Close waits for the first one: afterwards nothing of the stack runs.
func TestASecondCloseWaits(t *testing.T) {
	for range 50 {
		la, lb := link.Pair(link.PairConfig{})
		s, err := New(Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				s.Close()
				if !s.readersEnded() {
					t.Error("Close has returned while a reader runs, want it to wait")
				}
			})
		}
		both.Wait()
		lb.Close()
	}
}

// readersEnded reports whether the readers' links have ended.
func (s *Stack) readersEnded() bool {
	for _, i := range s.ifaces {
		for _, l := range i.readers {
			if !l.linkEnded {
				return false
			}
		}
	}
	return true
}
