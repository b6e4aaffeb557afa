package tcpip

import (
	"bytes"
	"io"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
	"weir/wire"
)

// directHosts returns two stacks whose packets goroutines pass on as WireGuard does: to the other
// stack's reader, or in its place. direct counts the packets that were processed in its place.
func directHosts(t *testing.T, run Run) (a, b *Stack, direct *atomic.Int64) {
	t.Helper()
	direct = new(atomic.Int64)
	aNear, aFar := link.Pair(link.PairConfig{Medium: link.IP, Buffer: 1 << 20})
	bNear, bFar := link.Pair(link.PairConfig{Medium: link.IP, Buffer: 1 << 20})
	a = stack(t, Config{Run: run, Link: aNear, Addrs: prefixes("10.0.0.1/24", "fd00::1/64")})
	b = stack(t, Config{Run: run, Link: bNear, Addrs: prefixes("10.0.0.2/24", "fd00::2/64")})
	t.Cleanup(func() { aFar.Close(); bFar.Close() })
	go passOn(t, aFar.Queue(0), bFar.Queue(0), direct) // until aFar is closed
	go passOn(t, bFar.Queue(0), aFar.Queue(0), direct) // until bFar is closed
	return a, b, direct
}

// passOn writes what it reads from one queue to another.
func passOn(t *testing.T, from, to link.Queue, direct *atomic.Int64) {
	finished := false
	defer func() {
		if !finished {
			t.Error("the goroutine that writes to a stack has ended, want it to go on")
		}
	}()
	batch := make([]link.Frame, 8)
	for {
		n, err := from.Read(batch, -1)
		if err != nil {
			finished = true
			return
		}
		if to.(link.DirectWriter).WriteDirect(batch[:n]) {
			direct.Add(int64(n))
			continue
		}
		for _, f := range batch[:n] {
			link.WriteWaiting(to, &link.Parts{Head: f.Bytes}, t.Context().Done())
		}
	}
}

func TestConnectionsAreServedByTheLinksWriter(t *testing.T) {
	ways(t, testConnectionsAreServedByTheLinksWriter)
}

func testConnectionsAreServedByTheLinksWriter(t *testing.T, run Run) {
	a, b, direct := directHosts(t, run)
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // until the stack closes
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() { io.Copy(c, c); c.Close() }() //nolint:errcheck // the client sees it
		}
	}()
	data := bytes.Repeat([]byte("weir"), 100_000)
	for _, address := range []string{"10.0.0.2:80", "[fd00::2]:80"} {
		c := dial(t, a, "tcp", address)
		go func() { c.Write(data); c.(*Conn).CloseWrite() }() //nolint:errcheck // ReadAll shows it
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes and %v, want the %d that were sent", address, len(got), err, len(data))
		}
	}
	if direct.Load() == 0 {
		t.Error("no packet was processed in the writer's goroutine, want some")
	}
}

// callers is a session that tells by which goroutine it is called, and may end it.
type callers struct{ reader *atomic.Bool }

func (s callers) Input(in []byte, out *serve.Writer) error {
	stack := make([]byte, 1<<14)
	stack = stack[:runtime.Stack(stack, false)]
	s.reader.Store(bytes.Contains(stack, []byte("(*reader).run(")))
	if string(in) == "end" {
		runtime.Goexit()
	}
	out.Write(in)
	return nil
}
func (callers) Wake(time.Time, *serve.Writer) error { return nil }
func (callers) Close(error)                         {}

func TestSessionsStayInTheReadersGoroutine(t *testing.T) {
	a, b, _ := directHosts(t, RunChain)
	var reader atomic.Bool
	if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return callers{&reader} }}, serve.Options{}); err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		c := dial(t, a, "tcp", "10.0.0.2:7")
		if expect(t, c, "hello", "hello"); !reader.Load() {
			t.Fatal("a session was called by another goroutine, want its reader")
		}
		if round%2 == 0 {
			c.Write([]byte("end")) //nolint:errcheck // the read shows it
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("a connection was read after its session had ended, want an error")
			}
		}
		c.Close()
	}
}

// The reader sleeps without a timeout when the writer processes a fragment.
func TestFragmentsOfDirectPacketsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := link.Pair(link.PairConfig{Medium: link.IP})
		defer far.Close()
		s := stack(t, Config{Link: near, Addrs: prefixes("10.0.0.1/24")})
		for i := range uint16(3) {
			time.Sleep(time.Hour) // the reader has no timer
			synctest.Wait()
			first := wire.AppendIPv4(nil, &wire.IPv4Fields{ID: i, MoreFragments: true, TTL: 64, Protocol: wire.UDPProtocol, Src: netip.MustParseAddr("10.0.0.9"), Dst: netip.MustParseAddr("10.0.0.1"), Payload: 16})
			if !far.Queue(0).(link.DirectWriter).WriteDirect([]link.Frame{{Bytes: append(first, make([]byte, 16)...)}}) {
				t.Fatal("a fragment was refused, want it processed")
			}
			time.Sleep(31 * time.Second)
			if got := s.drops[DropFragment].Load(); got != uint64(i)+1 {
				t.Errorf("after 31 s: got %d packets expired, want %d (RFC 1122, 3.3.2)", got, i+1)
			}
		}
	})
}
