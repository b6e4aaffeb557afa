package tcpip

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/flow"
	"weir/flow/draw"
	"weir/tcpip/link"
	"weir/wire"
)

// A link that lends its frames for longer, and one that does not, carry the same.
func TestSuperframesOutliveTheirRead(t *testing.T) {
	for name, decorate := range map[string]func(link.Link) link.Link{
		"kept":   func(l link.Link) link.Link { return l },
		"copied": func(l link.Link) link.Link { return struct{ link.Link }{lent{l}} },
	} {
		t.Run(name, func(t *testing.T) {
			la, lb := link.Pair(link.PairConfig{Superframe: 65535, Checksum: true})
			a, b := newHost(t, decorate(la), "10.0.0.1/24"), newHost(t, decorate(lb), "10.0.0.2/24")
			l := listen(t, b, ":80")
			data := make([]byte, 5<<20)
			rand.Read(data) //nolint:errcheck // it never fails
			c := dial(t, a, "tcp", "10.0.0.2:80")
			done := make(chan error, 1) // who sends -> the test; one
			go func() {
				c.Write(data) //nolint:errcheck // who receives tells
				done <- c.(*Conn).CloseWrite()
			}()
			d, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			got, err := io.ReadAll(d)
			if err != nil || !bytes.Equal(got, data) || <-done != nil {
				t.Errorf("%d bytes of %d came, or others (%v)", len(got), len(data), err)
			}
			if held := b.network.store.usage(); held != 0 {
				t.Errorf("frames of %d bytes are still held", held)
			}
		})
	}
}

// lent is a link whose frames are its own after the next Read.
type lent struct{ link.Link }

func (l lent) Queue(i int) link.Queue { return struct{ link.Queue }{l.Link.Queue(i)} }

// newHost is a stack that runs as a network.
func newHost(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Run: RunNetwork, Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// usage is how many bytes are held when the dealers have come to rest.
func (s *store) usage() (held int) {
	for range 1000 {
		s.mu.Lock()
		held = s.held
		s.mu.Unlock()
		if held == 0 {
			return 0
		}
		time.Sleep(time.Millisecond)
	}
	return held
}

// "Receiving emits acknowledgments": one stands for all segments of a batch.
func TestOneAcknowledgmentABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, ours := link.Pair(link.PairConfig{})
		theirs, lb := link.Pair(link.PairConfig{})
		a, b := newHost(t, la, "10.0.0.1/24"), newHost(t, lb, "10.0.0.2/24")
		w := wires{ours.Queue(0), theirs.Queue(0)}
		l := listen(t, b, ":80")
		go a.Dial("tcp", "10.0.0.2:80") //nolint:errcheck // Accept tells
		w.shuttle()
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := a.conns.all()[0]
		c.Write(make([]byte, 1460)) //nolint:errcheck // below
		w.shuttle()
		for range 2 { // the second has a larger window to send into
			c.Write(make([]byte, 8*1448)) //nolint:errcheck // below
			synctest.Wait()
			frames := read(w.a)
			if len(frames) < 8 {
				t.Fatalf("%d segments were sent, want 8 at least", len(frames))
			}
			b.ifaces[0].lanes[0].network.take(frames, b.now())
			synctest.Wait()
			if acks := read(w.b); len(acks) != 1 {
				t.Errorf("%d segments at once were answered by %d, want 1", len(frames), len(acks))
			} else {
				send(w.a, acks)
			}
			w.shuttle()
			io.CopyN(io.Discard, d, 8*1448) //nolint:errcheck // the window opens
			w.shuttle()
		}
		c.Close()
		d.Close()
		w.shuttle()
	})
}

// wires are the far ends of two stacks' links, between which a test carries frames.
type wires struct{ a, b link.Queue }

// shuttle carries frames until there are none.
func (w wires) shuttle() {
	for some := true; some; {
		synctest.Wait()
		fromA, fromB := read(w.a), read(w.b)
		send(w.b, fromA)
		send(w.a, fromB)
		some = len(fromA)+len(fromB) > 0
	}
}

func read(q link.Queue) (frames []link.Frame) {
	var batch [64]link.Frame
	n, _ := q.Read(batch[:], 0)
	for _, f := range batch[:n] {
		f.Bytes = bytes.Clone(f.Bytes)
		frames = append(frames, f)
	}
	return frames
}

func send(q link.Queue, frames []link.Frame) {
	for _, f := range frames {
		q.Write(&link.Parts{Head: f.Bytes})
	}
}

// A dealer that is stuck holds up nobody else; what comes for it and finds no room is dropped and counted, each packet for one reason, and none is lost sight of.
func TestAStuckDealerHoldsUpNobody(t *testing.T) {
	a, b := hostsBy(t, RunNetwork, link.PairConfig{Depth: 1 << 20})
	ping := func() {
		t.Helper()
		if _, err := a.Ping(t.Context(), netip.MustParseAddr("10.0.0.2"), 10); err != nil {
			t.Error(err)
		}
	}
	ping() // so that both are neighbours
	f := wire.TCPFields{Src: netip.MustParseAddrPort("10.0.0.1:1"), Dst: netip.MustParseAddrPort("10.0.0.2:2"), Flags: wire.RST}
	frame := wire.AppendEthernet(nil, b.ifaces[0].caps.MAC, a.ifaces[0].caps.MAC, wire.TypeIPv4)
	frame = wire.AppendIPv4(frame, &wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: f.Src.Addr(), Dst: f.Dst.Addr(), Payload: wire.TCPHeader})
	frame = wire.AppendTCP(frame, &f)
	flood := func(n int) {
		for range n {
			a.ifaces[0].lanes[0].q.Write(&link.Parts{Head: frame})
		}
		for b.ifaces[0].lanes[0].q.Counters().Received < a.ifaces[0].lanes[0].q.Counters().Sent {
			time.Sleep(time.Millisecond)
		}
	}
	b.ports.mu.Lock() // the tcp dealer waits for it
	flood(1000)
	ping()
	flood(50_000)
	b.ports.mu.Unlock()
	full := func() uint64 {
		return b.drops[DropMemory].Load() + b.drops[DropEthernetQueue].Load() + b.drops[DropIPv4Queue].Load() + b.drops[DropTCPQueue].Load()
	}
	for end := time.Now().Add(30 * time.Second); full()+b.drops[DropTCPPort].Load() != 51_000; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("of 51,000 packets %d found no room, and %d came to their end", full(), b.drops[DropTCPPort].Load())
		}
	}
	if full() == 0 {
		t.Error("all have found room")
	}
	ping()
}

// Close ends a network in the middle of its work, and leaves nothing.
func TestANetworkIsClosedUnderLoad(t *testing.T) {
	for range 5 {
		a, b := hostsBy(t, RunNetwork, link.PairConfig{})
		l := listen(t, b, ":80")
		done := make(chan error, 2) // who sends, and who receives -> the test; two
		c := dial(t, a, "tcp", "10.0.0.2:80")
		go func() { done <- endless(c) }()
		d, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(d, make([]byte, 100_000)) //nolint:errcheck // it is under way
		go func() {
			_, err := io.Copy(io.Discard, d)
			done <- err
		}()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		<-done
		<-done
	}
}

func endless(c net.Conn) error {
	b := make([]byte, 1<<16)
	for {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}

func TestARunThatIsNone(t *testing.T) {
	if _, err := New(Config{Run: "fast"}); err == nil || !strings.Contains(err.Error(), "choose chain or network") {
		t.Errorf("the error is %v", err)
	}
}

// Who draws a stack sees all layers, however it runs.
func TestAStackIsDrawn(t *testing.T) {
	ways(t, func(t *testing.T, run Run) {
		a, _ := hostsBy(t, run, link.PairConfig{})
		net := a.Topology()
		if string(net.Way) != string(run) || len(net.Edges) != len(edges()) {
			t.Errorf("it runs by %s with %d edges", net.Way, len(net.Edges))
		}
		mermaid := draw.Mermaid(net)
		for _, d := range dealers {
			if !strings.Contains(mermaid, d.name) {
				t.Errorf("there is no %s in\n%s", d.name, mermaid)
			}
		}
		if waits := strings.Contains(mermaid, flow.Refuse.String()); waits != (run == RunNetwork) {
			t.Errorf("what happens when a queue is full: %v in\n%s", waits, mermaid)
		}
	})
}
