package tcpip

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"weir/serve"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// The kinds of application on a connection: a goroutine, or a session.
var applications = map[string]func(b *testing.B, s *Stack){
	"goroutine": func(b *testing.B, s *Stack) {
		l, err := s.Listen("tcp", ":7")
		if err != nil {
			b.Fatal(err)
		}
		go func() { // until the stack closes
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 4096)) //nolint:errcheck // until the peer closes
				}()
			}
		}()
	},
	"session": func(b *testing.B, s *Stack) {
		if _, err := s.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}, serve.Options{}); err != nil {
			b.Fatal(err)
		}
	},
}

// applied runs a benchmark with each kind of application, between two stacks in memory.
func applied(b *testing.B, do func(b *testing.B, dial func() net.Conn)) {
	for name, start := range applications {
		b.Run(name, func(b *testing.B) {
			la, ls := link.Pair(link.PairConfig{Superframe: 65535, Checksum: true})
			// avoids running out of ports in a connect benchmark
			short := tcp.Config{TimeWaitDuration: time.Millisecond}
			a := measured(b, Config{Link: la, TCP: short, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
			s := measured(b, Config{Link: ls, TCP: short, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
			start(b, s)
			b.ReportAllocs()
			do(b, func() net.Conn {
				c, err := a.Dial("tcp", "10.0.0.2:7")
				if err != nil {
					b.Fatal(err)
				}
				return c
			})
		})
	}
}

// measured returns a stack that is closed at the end of the test.
func measured(b testing.TB, c Config) *Stack {
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// roundTrips sends a byte there and back, repeatedly.
func roundTrips(b *testing.B, dial func() net.Conn) {
	c := dial()
	defer c.Close()
	p := make([]byte, 1)
	for b.Loop() {
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			b.Fatal(err)
		}
	}
}

// connects opens a connection, sends 4 kB, receives them back, and closes.
func connects(b *testing.B, dial func() net.Conn) {
	p := make([]byte, 4096)
	for b.Loop() {
		c := dial()
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
		if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, c); n != 4096 || err != nil {
			b.Fatal(n, err)
		}
		c.Close()
	}
}

// streams sends 1 MiB and receives it back, repeatedly.
func streams(b *testing.B, dial func() net.Conn) {
	c := dial()
	defer c.Close()
	const piece = 1 << 20
	b.SetBytes(piece)
	out, in := make([]byte, piece), make([]byte, piece)
	for b.Loop() {
		sent := make(chan error, 1) // the goroutine below -> here
		go func() {
			_, err := c.Write(out)
			sent <- err
		}()
		if _, err := io.ReadFull(c, in); err != nil {
			b.Fatal(err)
		}
		if err := <-sent; err != nil {
			b.Fatal(err)
		}
	}
}

// A byte there and back between two stacks in memory: the cost of the stack itself at both ends,
// with goroutine switches.
func BenchmarkRoundTrip(b *testing.B) { applied(b, roundTrips) }

// A connection's whole life.
func BenchmarkConnect(b *testing.B) { applied(b, connects) }

// A stream there and back.
func BenchmarkStream(b *testing.B) { applied(b, streams) }
