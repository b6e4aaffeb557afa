package netsim

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"

	"weir/tcpip/fabric"
)

// traceLimit is how many bytes of packets a trace keeps: then it forgets the oldest.
const traceLimit = 64 << 20

// trace records what happened to the packets of a world. Its methods are called under the network's
// lock, beside sender.
type trace struct {
	began   time.Time
	callers bool // records who sent each packet, and the digests
	limit   int  // of bytes: see traceLimit

	mu        sync.Mutex
	events    []tracedEvent
	forgotten int // events that were removed
	bytes     int
	digests   []digest // of all packets that hosts have sent, also those that were removed
}

// digest stands for a sent packet whose bytes may have been removed.
type digest struct {
	at   time.Duration
	node string
	hash uint64 // of its bytes
}

var digestSeed = maphash.MakeSeed()

// tracedEvent is an event of the network.
type tracedEvent struct {
	at     time.Duration // since the start of the world
	kind   fabric.EventKind
	node   string
	packet []byte
	number uint64 // of the packet
	why    fabric.Drop
	stack  []uintptr // of a sent packet: the callers of the write
}

func newTrace() *trace { return &trace{limit: traceLimit} }

// eventCost is what an event takes beside its packet, in bytes.
const eventCost = 128

// observe records an event.
func (t *trace) observe(e fabric.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stack, _ := e.Sender.([]uintptr)
	t.events = append(t.events, tracedEvent{e.At.Sub(t.began), e.Kind, e.Node.Name(), slices.Clone(e.Packet), e.Number, e.Why, stack})
	if t.callers && e.Kind == fabric.EventSent {
		t.digests = append(t.digests, digest{e.At.Sub(t.began), e.Node.Name(), maphash.Bytes(digestSeed, e.Packet)})
	}
	t.bytes += len(e.Packet) + eventCost
	if t.bytes <= t.limit {
		return
	}
	count := 0
	for t.bytes > t.limit/4*3 {
		t.bytes -= len(t.events[count].packet) + eventCost
		count++
	}
	t.events = slices.Delete(t.events, 0, count)
	t.forgotten += count
}

// count returns how many events there were.
func (t *trace) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events) + t.forgotten
}

// lastAt returns the time of the last event.
func (t *trace) lastAt() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == 0 {
		return 0
	}
	return t.events[len(t.events)-1].at
}

// sender returns the callers of a write.
func (t *trace) sender() any {
	if !t.callers {
		return nil
	}
	pcs := make([]uintptr, 48)
	return pcs[:runtime.Callers(3, pcs)]
}

// all returns the events that are kept, and how many are not.
func (t *trace) all() (events []tracedEvent, forgotten int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events), t.forgotten
}

// sent returns the packet number n that hosts have sent, from 0. If it was removed, only its time
// and its host are known.
func (t *trace) sent(n int) tracedEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	behind := len(t.digests) - n // how many are sent from this one on
	for i := len(t.events) - 1; i >= 0; i-- {
		if t.events[i].kind != fabric.EventSent {
			continue
		}
		if behind--; behind == 0 {
			return t.events[i]
		}
	}
	return tracedEvent{at: t.digests[n].at, node: t.digests[n].node}
}
