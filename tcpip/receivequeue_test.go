package tcpip

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// A receive queue is a FIFO, and its charged bytes are those of its datagrams.
func TestAReceiveQueueIsAFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := receiveQueue{readWaiter: newWaiter()}
		var model []datagram
		cost, dropped := 0, uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 2).Draw(t, "take") == 0 {
				d, err := b.read()
				if err != nil || &d.payload[0] != &model[0].payload[0] {
					t.Fatalf("got another datagram than the oldest, or error %v; want the oldest without an error", err)
				}
				cost -= d.chargedSize()
				model = model[1:]
				continue
			}
			d := datagram{from: netip.MustParseAddrPort("10.0.0.1:5"), payload: make([]byte, rapid.SampledFrom([]int{1, 1500, 65507}).Draw(t, "size"))}
			fits := cost+d.chargedSize() <= maxSenderBytes
			if b.enqueue(d) != fits {
				t.Fatalf("a datagram of %d bytes on top of %d: got enqueued %t, want %t", d.chargedSize(), cost, !fits, fits)
			}
			if fits {
				model = append(model, d)
				cost += d.chargedSize()
			} else {
				dropped++
			}
		}
		if n, bytes, lost := b.usage(); n != len(model) || bytes != cost || lost != dropped {
			t.Fatalf("%d datagrams of %d bytes, %d dropped; want %d, %d, %d", n, bytes, lost, len(model), cost, dropped)
		}
	})
}
