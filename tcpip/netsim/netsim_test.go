package netsim

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(wrapped(m), goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// skipRaced skips a long simulation of a protocol that other tests run with the race detector.
func skipRaced(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("it takes half a minute with the race detector; scripts/test cross runs it without, in Node.js")
	}
}

// family has the addresses of two hosts, and the network of all addresses.
type family struct{ name, peer, host, all string }

var families = []family{{"IPv4", "10.0.0.1/24", "10.0.0.2/24", "0.0.0.0/0"}, {"IPv6", "fd00::1/64", "fd00::2/64", "::/0"}}

// address is port 80 of the host.
func (f family) address() string { return netip.AddrPortFrom(addrOf(f.host), 80).String() }

func addrOf(prefix string) netip.Addr { return netip.MustParsePrefix(prefix).Addr() }

// ofBoth runs a test in virtual time, once for each version of IP.
func ofBoth(t *testing.T, test func(*testing.T, family)) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, f) })
		})
	}
}

// transfer sends data from one stack to another over a path, in virtual time, and returns the
// duration.
func transfer(t *testing.T, path link.Impairment, seed uint64, data []byte) time.Duration {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Depth: 100_000, Checksum: true})
	ia, err := link.Impair(la, link.ImpairConfig{Out: path, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	ib, err := link.Impair(lb, link.ImpairConfig{Out: path, Seed: seed + 1})
	if err != nil {
		t.Fatal(err)
	}
	a := stack(t, ia, "10.0.0.1/24", tcp.Config{})
	defer a.Close()
	b := stack(t, ib, "10.0.0.2/24", tcp.Config{})
	defer b.Close()
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1) // the sender's result; one
	begun := time.Now()
	go func() { sent <- send(a, data) }()
	err = receive(l, data)
	took := time.Since(begun)
	if err := <-sent; err != nil {
		t.Errorf("sending: got error %v, want none", err)
	}
	if err != nil {
		t.Error(err)
	}
	return took
}

func stack(t *testing.T, l link.Link, addr string, cfg tcp.Config) *tcpip.Stack {
	t.Helper()
	s, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}, TCP: cfg})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(s *tcpip.Stack, data []byte) error {
	c, err := s.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		return err
	}
	if _, err := c.Write(data); err != nil {
		return err
	}
	if err := c.(*tcpip.Conn).CloseWrite(); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1)) // the peer closes when it has all
	c.Close()
	if err != nil && err.Error() == "EOF" {
		return nil
	}
	return err
}

// receive reads data and compares it with the expected bytes.
func receive(l net.Listener, want []byte) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	for part, at := make([]byte, 64<<10), 0; ; {
		n, err := c.Read(part)
		if n > len(want)-at || !bytes.Equal(part[:n], want[at:at+n]) {
			return fmt.Errorf("the received data differs after %d bytes, want all %d as sent", at, len(want))
		}
		switch at += n; {
		case err == io.EOF && at == len(want):
			return nil
		case err != nil:
			return fmt.Errorf("%d bytes of %d came: %w", at, len(want), err)
		}
	}
}

// TestThroughputMatchesTheGoldenFile compares tables of throughput with a golden file. One table is
// by round trip and loss, one by round trip and reordering, over paths of 100 Mbit/s. In virtual
// time the figures hardly differ from run to run. WEIR_GOLDEN=write writes the file again. Without
// loss the initial window of ten segments doubles in each round trip. With one round trip for ARP
// and one for the handshake, 200 ms give 15.7 Mbit/s, and 100 ms, where the rate is reached, 29.5.
// Each cell is of one seed: cells with reordering differ by a fifth from seed to seed.
func TestThroughputMatchesTheGoldenFile(t *testing.T) {
	skipRaced(t)
	var table strings.Builder
	data := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{7}).Read(data)
	fmt.Fprintf(&table, "Mbit/s of 100, 4 MB, one connection; a queue of 256 KB\n")
	rows(t, &table, data, "lost", []float64{0, 0.01, 0.03, 0.1}, []time.Duration{0, 2, 20, 100, 200}, func(p *link.Impairment, share float64) { p.Loss = share })
	fmt.Fprintf(&table, "\nframes that are held back for 1 ms and an eighth of the way\n")
	rows(t, &table, data, "late", []float64{0.01, 0.1}, []time.Duration{0, 20, 200}, func(p *link.Impairment, share float64) {
		p.Reorder, p.ReorderDelay = share, time.Millisecond+p.Delay/8
	})
	if os.Getenv("WEIR_GOLDEN") == "write" {
		if err := os.WriteFile("testdata/throughput.txt", []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/throughput.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !alike(table.String(), string(golden)) {
		t.Errorf("got the table\n%s\nwant about\n%s", table.String(), golden)
	}
}

// rows writes a table of round trips and shares of frames to which something is done.
func rows(t *testing.T, table *strings.Builder, data []byte, name string, shares []float64, trips []time.Duration, spoil func(*link.Impairment, float64)) {
	fmt.Fprintf(table, "%9s", name)
	for _, share := range shares {
		fmt.Fprintf(table, "%9.1f%%", 100*share)
	}
	table.WriteByte('\n')
	for _, trip := range trips {
		delay := trip * time.Millisecond / 2
		fmt.Fprintf(table, "%9v", 2*delay)
		for _, share := range shares {
			synctest.Test(t, func(t *testing.T) {
				path := link.Impairment{Delay: delay, Rate: 100e6, QueueBytes: 256 << 10}
				spoil(&path, share)
				took := transfer(t, path, 7, data)
				fmt.Fprintf(table, "%10.2f", float64(len(data))*8/took.Seconds()/1e6)
			})
		}
		table.WriteByte('\n')
	}
}

// alike reports whether two tables have the same words, and numbers that differ by less than a
// third. The runtime chooses the order of goroutines that are due at the same instant, which
// changes the losses of a seed.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(x, y, func(v, w string) bool {
		m, err := strconv.ParseFloat(v, 64)
		n, err2 := strconv.ParseFloat(w, 64)
		if err != nil || err2 != nil {
			return v == w
		}
		return m <= n*1.5 && n <= m*1.5
	})
}
