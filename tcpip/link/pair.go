package link

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weir/wire"
)

// PairConfig configures a pair.
type PairConfig struct {
	Medium     Medium // what it carries
	MTU        int    // largest packet in bytes; default 1,500
	Superframe int    // largest packet of a superframe in bytes, needs Checksum; 0: no superframes
	// frames that may wait in each direction; frames beyond that are dropped. Default 1,024
	Depth    int
	Checksum bool // checksums are not computed: memory does not corrupt
	// bytes that may wait in each direction before senders are asked to wait ([Waiter]), instead of
	// Depth; 0: they are not asked. A frame counts 256 bytes more than it has
	Buffer int
	// the first end may leave segments and checksums of what it sends to the second one, which
	// calls Segments; what the second one sends is as on a wire, and the first one verifies it.
	// Superframe and Checksum must not be set
	Offload bool
}

// Pair returns two links in memory: frames written to one are read from the other. Closing one is
// like unplugging it: the other one stays open, delivers what was written before, and drops what is
// written to it. Works in virtual time (testing/synctest).
func Pair(c PairConfig) (a, b Link) {
	if c.MTU == 0 {
		c.MTU = 1500
	}
	if c.Depth == 0 {
		c.Depth = 1024
	}
	toA, toB := newPipe(c.Depth, c.Buffer), newPipe(c.Depth, c.Buffer)
	caps := Caps{Medium: c.Medium, MTU: c.MTU, Superframe: c.Superframe, Checksum: c.Checksum, Queues: 1}
	first, second := &memoryLink{caps: caps, in: toA, out: toB}, &memoryLink{caps: caps, in: toB, out: toA}
	if c.Offload {
		first.caps.Superframe, first.caps.Checksum = 65535, true
	}
	if c.Medium == Ethernet {
		first.caps.MAC, second.caps.MAC = wire.MAC{2, 0, 0, 0, 0, 1}, wire.MAC{2, 0, 0, 0, 0, 2}
	}
	return first, second
}

// memoryLink is one end of a pair, and its only queue.
type memoryLink struct {
	caps    Caps
	in, out *pipe
	closed  atomic.Bool
	queueCounters
}

// Caps implements Link.
func (m *memoryLink) Caps() Caps { return m.caps }

// Queue implements Link.
func (m *memoryLink) Queue(int) Queue { return m }

// Close implements Link.
func (m *memoryLink) Close() error {
	m.closed.Store(true)
	m.in.close()
	return nil
}

// Full implements Waiter. It reports whether senders should wait.
func (m *memoryLink) Full() bool { return m.out.isFull() }

// WhenRoom implements Waiter.
func (m *memoryLink) WhenRoom(call func()) { m.out.callWhenRoom(call) }

// Read implements Queue.
func (m *memoryLink) Read(batch []Frame, wait time.Duration) (int, error) {
	n, err := m.in.read(batch, wait)
	m.receive(batch[:n])
	return n, err
}

// Write implements Queue. It reports whether the frame was sent.
func (m *memoryLink) Write(p *Parts) bool {
	why, sent := DropClosed, false
	switch {
	case m.closed.Load():
	case !m.caps.accepts(p):
		why = DropRefused
	default:
		why, sent = m.out.write(p, m.caps.Checksum)
	}
	if !sent {
		m.drop(why)
		return false
	}
	m.send(p.Len())
	return true
}

// Wake implements Queue.
func (m *memoryLink) Wake() { m.in.wake() }

// maxSpareBuffers is how many buffers a pipe keeps for reuse: enough for a few batches.
const maxSpareBuffers = 256

// pipe is one direction of a pair.
type pipe struct {
	depth  int // frames that it takes
	buffer int // bytes from which on it is full; 0: it has room until depth is reached
	// writers, Wake and close -> the reader: check again; capacity 1, never closed
	signal chan struct{}
	timer  *time.Timer // used by the reader; nil before its first wait with a timeout

	mu       sync.Mutex
	incoming []Frame // frames that wait, after those in reading
	// frames that the reader takes from the front; when all are read, it swaps reading and incoming
	reading []Frame
	// how many of reading are read; the last lentCount of them are lent to the reader until its
	// next Read
	readCount    int
	lentCount    int      //
	spareBuffers [][]byte // unused buffers, at most maxSpareBuffers
	closed       bool
	wakePending  bool
	waitingBytes int      // of the frames that wait, with frameCost for each
	whenRoom     []func() // see Waiter
	direct       direct
}

// frameCost is what a frame takes beside its bytes: a small one has a buffer that is larger.
const frameCost = 256

// newPipe returns a pipe for that many frames, or of that many bytes.
func newPipe(depth, buffer int) *pipe {
	if buffer > 0 {
		depth = 2 * (buffer/frameCost + 1) // senders that do not wait lose frames in the end
	}
	return &pipe{depth: depth, buffer: buffer, signal: make(chan struct{}, 1)}
}

func (p *pipe) notify() { trySignal(p.signal) }

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.incoming, p.spareBuffers = nil, nil
	waiting := p.takeWaitingLocked()
	p.mu.Unlock()
	p.notify()
	callAll(waiting)
}

func (p *pipe) wake() {
	p.mu.Lock()
	p.wakePending = true
	p.mu.Unlock()
	p.notify()
}

// write queues a copy of the frame. If it drops the frame, sent is false and why is the reason.
func (p *pipe) write(parts *Parts, good bool) (why Drop, sent bool) {
	p.mu.Lock()
	waiting := p.waitingLocked()
	if p.closed || waiting >= p.depth || p.buffer > 0 && p.waitingBytes >= 2*p.buffer {
		closed := p.closed
		p.mu.Unlock()
		if closed {
			return DropClosed, false
		}
		return DropFull, false
	}
	var b []byte
	if n := len(p.spareBuffers); n > 0 {
		b, p.spareBuffers = p.spareBuffers[n-1], p.spareBuffers[:n-1]
	}
	f := Frame{Bytes: parts.AppendTo(b[:0]), Offload: parts.Offload}
	f.ChecksumOK = good
	p.incoming = append(p.incoming, f)
	p.waitingBytes += len(f.Bytes) + frameCost
	p.mu.Unlock()
	if waiting == 0 {
		p.notify()
	}
	return 0, true
}

func (p *pipe) read(batch []Frame, wait time.Duration) (int, error) {
	n, again, err := p.tryRead(batch, wait == 0)
	if !again {
		return n, err
	}
	var timeout <-chan time.Time // nil: never
	if wait > 0 {
		if p.timer == nil {
			p.timer = time.NewTimer(wait)
		} else {
			p.timer.Reset(wait)
		}
		defer p.timer.Stop()
		timeout = p.timer.C
	}
	for expired := false; ; {
		expired = p.await(timeout) || expired
		if n, again, err = p.tryRead(batch, expired); !again {
			return n, err
		}
	}
}

// await waits for a signal, and reports whether the timeout came instead.
func (p *pipe) await(timeout <-chan time.Time) (expired bool) {
	if timeout == nil { // a receive is cheaper than a select
		<-p.signal
		return false
	}
	select {
	case <-p.signal:
		return false
	case <-timeout:
		return true
	}
}

// tryRead returns frames that wait. again is true if Read must go on waiting: there are none, or a
// writer processes its own. expired says that Read need not wait for frames any more.
func (p *pipe) tryRead(batch []Frame, expired bool) (n int, again bool, err error) {
	p.mu.Lock()
	if p.direct.readerReady = p.direct.running; p.direct.running {
		p.mu.Unlock()
		return 0, true, nil // endDirect wakes the reader
	}
	p.reclaimLentLocked()
	if p.closed {
		p.mu.Unlock()
		return 0, false, net.ErrClosed
	}
	if n = p.takeLocked(batch); n == 0 {
		again = !p.wakePending && !expired
		p.direct.idle, p.wakePending = again, false
		p.mu.Unlock()
		return 0, again, nil
	}
	p.direct.idle = false
	var waiting []func()
	if len(p.whenRoom) > 0 && p.waitingBytes <= p.buffer/2 {
		waiting = p.takeWaitingLocked()
	}
	p.mu.Unlock()
	callAll(waiting)
	return n, false, nil
}

// takeLocked takes frames that wait. The caller holds mu.
func (p *pipe) takeLocked(batch []Frame) (n int) {
	if p.readCount == len(p.reading) {
		p.reading, p.incoming, p.readCount = p.incoming, p.reading[:0], 0
	}
	n = copy(batch, p.reading[p.readCount:])
	for i := range batch[:n] {
		p.waitingBytes -= len(batch[i].Bytes) + frameCost
	}
	p.readCount += n
	p.lentCount = n
	return n
}

// reclaimLentLocked takes back the buffers lent to the reader. The caller holds mu.
func (p *pipe) reclaimLentLocked() {
	for i := p.readCount - p.lentCount; i < p.readCount; i++ {
		if len(p.spareBuffers) < maxSpareBuffers {
			p.spareBuffers = append(p.spareBuffers, p.reading[i].Bytes)
		}
		p.reading[i] = Frame{}
	}
	p.lentCount = 0
}
