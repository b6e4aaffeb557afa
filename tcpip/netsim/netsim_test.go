package netsim

import (
	"bytes"
	"fmt"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transfer sends so many bytes from one stack to another over a path, in virtual time, and says how long that took.
func transfer(t *testing.T, path link.Impairment, seed uint64, size int, cfg tcp.Config) time.Duration {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Depth: 100_000})
	ia, err := link.Impair(la, link.ImpairConfig{Out: path, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	ib, err := link.Impair(lb, link.ImpairConfig{Out: path, Seed: seed + 1})
	if err != nil {
		t.Fatal(err)
	}
	a := stack(t, ia, "10.0.0.1/24", cfg)
	defer a.Close()
	b := stack(t, ib, "10.0.0.2/24", cfg)
	defer b.Close()
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	sent := make(chan error, 1) // the sender's result; one
	begun := time.Now()
	go func() { sent <- send(a, data) }()
	got, err := receive(l)
	took := time.Since(begun)
	if err := <-sent; err != nil {
		t.Errorf("sending: %v", err)
	}
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d came (%v)", len(got), len(data), err)
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

func receive(l net.Listener) ([]byte, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var all bytes.Buffer
	_, err = all.ReadFrom(c)
	return all.Bytes(), err
}

// TestThroughput is a table of what a connection carries over paths of 100 Mbit/s, by delay and loss, beside a golden file: in virtual time it hardly differs
// from run to run. WEIR_GOLDEN=write makes the file anew.
func TestThroughput(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "Mbit/s of 100, 4 MB, one connection; a queue of 256 KB\n%9s", "delay")
	losses := []float64{0, 0.001, 0.01, 0.03, 0.1}
	for _, loss := range losses {
		fmt.Fprintf(&table, "%9.1f%%", 100*loss)
	}
	table.WriteByte('\n')
	for _, delay := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond} {
		fmt.Fprintf(&table, "%9v", 2*delay)
		for _, loss := range losses {
			synctest.Test(t, func(t *testing.T) {
				took := transfer(t, link.Impairment{Delay: delay, Loss: loss, Rate: 100e6, Queue: 256 << 10}, 7, 4<<20, tcp.Config{})
				fmt.Fprintf(&table, "%10.2f", float64(4<<20)*8/took.Seconds()/1e6)
			})
		}
		table.WriteByte('\n')
	}
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
		t.Errorf("the table is\n%s\nand was\n%s", table.String(), golden)
	}
}

// alike says whether two tables have the same words, and numbers that differ by less than a third: who is first of two goroutines that are due at the
// same instant is the runtime's choice, and moves the losses that a seed has.
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
