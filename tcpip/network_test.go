package tcpip

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/flow"
	"weir/flow/draw"
	"weir/tcpip/link"
	"weir/wire"
)

// One acknowledgment covers all segments of a batch.
func TestABatchIsAcknowledgedOnce(t *testing.T) {
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
			b.ifaces[0].readers[0].feeder.processBatch(frames, b.now())
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

// newHost returns a stack with RunNetwork.
func newHost(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Run: RunNetwork, Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wires are the far ends of two stacks' links, between which a test moves frames.
type wires struct{ a, b link.Queue }

// shuttle moves frames until there are none.
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

// A full queue drops, and each packet is counted once. The layer goroutines beside go on.
func TestAFullQueueDropsAndCounts(t *testing.T) {
	a, b := hostsBy(t, RunNetwork, link.PairConfig{})
	i := b.ifaces[0]
	f := wire.TCPFields{Src: netip.MustParseAddrPort("10.0.0.1:1"), Dst: netip.MustParseAddrPort("10.0.0.2:2"), Flags: wire.RST}
	frame := wire.AppendEthernet(nil, i.caps.MAC, a.ifaces[0].caps.MAC, wire.TypeIPv4)
	frame = wire.AppendIPv4(frame, &wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: f.Src.Addr(), Dst: f.Dst.Addr(), Payload: wire.TCPHeader})
	frame = wire.AppendTCP(frame, &f)
	b.listeners.mu.Lock() // blocks the tcp layer
	var readers sync.WaitGroup
	deliver := func(batches int) {
		for range batches {
			l := &reader{s: b, iface: i, queue: i.readers[0].queue}
			l.feeder = b.packetNet.newFeeder(l)
			readers.Go(func() { l.feeder.processBatch([]link.Frame{{Bytes: frame}}, b.now()) })
		}
	}
	deliver(edgeCapacity / 2)
	if _, err := a.Ping(t.Context(), netip.MustParseAddr("10.0.0.2"), 10); err != nil {
		t.Error(err)
	}
	deliver(5 * edgeCapacity)
	full := func() uint64 {
		return b.drops[DropEthernetQueue].Load() + b.drops[DropIPv4Queue].Load() + b.drops[DropTCPQueue].Load()
	}
	for full() == 0 {
		time.Sleep(time.Millisecond)
	}
	b.listeners.mu.Unlock()
	readers.Wait()
	if ended := b.drops[DropTCPPort].Load(); full()+ended != 5*edgeCapacity+edgeCapacity/2 {
		t.Errorf("got %d packets dropped for full queues and %d delivered, want %d in sum", full(), ended, 5*edgeCapacity+edgeCapacity/2)
	}
}

// Close ends a busy network, and leaves nothing.
func TestANetworkIsClosedUnderLoad(t *testing.T) {
	for range 5 {
		a, b := hostsBy(t, RunNetwork, link.PairConfig{})
		l := listen(t, b, ":80")
		done := make(chan error, 2) // sender and receiver -> the test; two
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

func TestAnInvalidRunIsRejected(t *testing.T) {
	if _, err := New(Config{Run: "fast"}); err == nil || !strings.Contains(err.Error(), "choose chain or network") {
		t.Errorf("an unknown Run: got error %v, want one that names chain and network", err)
	}
}

// A drawing of the stack has all layers, in both concurrency models.
func TestAStackIsDrawn(t *testing.T) {
	ways(t, func(t *testing.T, run Run) {
		a, _ := hostsBy(t, run, link.PairConfig{})
		net := a.Topology()
		if string(net.Way) != string(run) || len(net.Edges) != len(edges(run)) {
			t.Errorf("got the concurrency model %s with %d edges, want %s with %d", net.Way, len(net.Edges), run, len(edges(run)))
		}
		mermaid := draw.Mermaid(net)
		for _, d := range layerStages {
			if !strings.Contains(mermaid, d.name) {
				t.Errorf("the drawing lacks the layer %s, want all layers:\n%s", d.name, mermaid)
			}
		}
		if waits := strings.Contains(mermaid, flow.Refuse.String()); waits != (run == RunNetwork) {
			t.Errorf("the drawing says what a full queue does: got %t, want %t (only the network has queues):\n%s", waits, run == RunNetwork, mermaid)
		}
	})
}

// The package comment names all layers and the capacity of their queues.
func TestThePackageCommentNamesAllLayers(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{fmt.Sprintf("a queue of %d batches", edgeCapacity)}
	for _, d := range layerStages {
		names = append(names, "> "+d.name+" ")
	}
	for _, name := range names {
		if !strings.Contains(string(text), name) {
			t.Errorf("doc.go lacks %q, want the capacity of queues and every layer", name)
		}
	}
}
