package link

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weir/wire"
)

// PairConfig says how a pair is.
type PairConfig struct {
	MTU        int // largest packet in bytes; default 1,500
	Superframe int // largest superframe's packet in bytes, with Checksum only; 0: none are taken
	// frames that may wait in each direction; what comes then is dropped. Default 1,024
	Depth    int
	Checksum bool // checksums are left out: memory does not garble
}

// Pair is two links in memory; what is written to the one is read from the other. Closing one is
// like pulling it out: the other one stays open, gives what had been written before, and drops what
// is written to it. Works in virtual time (testing/synctest).
func Pair(c PairConfig) (a, b Link) {
	if c.MTU == 0 {
		c.MTU = 1500
	}
	if c.Depth == 0 {
		c.Depth = 1024
	}
	toA, toB := newPipe(c.Depth), newPipe(c.Depth)
	caps := Caps{MTU: c.MTU, Superframe: c.Superframe, Checksum: c.Checksum, Queues: 1}
	first, second := &memory{caps: caps, in: toA, out: toB}, &memory{caps: caps, in: toB, out: toA}
	first.caps.MAC, second.caps.MAC = wire.MAC{2, 0, 0, 0, 0, 1}, wire.MAC{2, 0, 0, 0, 0, 2}
	return first, second
}

// memory is one end of a pair; it is its only queue.
type memory struct {
	caps    Caps
	in, out *pipe
	closed  atomic.Bool
	counts
}

// Caps implements Link.
func (m *memory) Caps() Caps { return m.caps }

// Queue implements Link.
func (m *memory) Queue(int) Queue { return m }

// Close implements Link.
func (m *memory) Close() error {
	m.closed.Store(true)
	m.in.close()
	return nil
}

// Read implements Queue.
func (m *memory) Read(batch []Frame, wait time.Duration) (int, error) {
	n, err := m.in.read(batch, wait)
	m.receive(batch[:n])
	return n, err
}

// Write implements Queue.
func (m *memory) Write(p *Parts) bool {
	why, sent := DropClosed, false
	switch {
	case m.closed.Load():
	case !m.caps.takes(p):
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
func (m *memory) Wake() { m.in.wake() }

// spareMost is how many buffers a pipe keeps for frames to come: as many as a few batches need.
const spareMost = 256

// pipe is one direction of a pair.
type pipe struct {
	depth int
	// writers, Wake and close -> the reader: look again; capacity 1, never closed
	signal chan struct{}
	timer  *time.Timer // the reader's; nil before it has waited for a time

	mu   sync.Mutex
	come []Frame // that wait, behind those in next
	// that wait: the reader takes from its begin, and when it is empty changes it for come
	next []Frame
	// of next, how many the reader has taken; the last lent of them it has until it reads again
	taken  int
	lent   int      //
	spare  [][]byte // buffers nobody uses, at most spareMost
	closed bool
	woken  bool
}

func newPipe(depth int) *pipe { return &pipe{depth: depth, signal: make(chan struct{}, 1)} }

func (p *pipe) notify() { tell(p.signal) }

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.come, p.spare = nil, nil
	p.mu.Unlock()
	p.notify()
}

func (p *pipe) wake() {
	p.mu.Lock()
	p.woken = true
	p.mu.Unlock()
	p.notify()
}

// write has a copy of the frame wait, or says why not.
func (p *pipe) write(parts *Parts, good bool) (why Drop, sent bool) {
	p.mu.Lock()
	waiting := len(p.come) + len(p.next) - p.taken
	if p.closed || waiting >= p.depth {
		closed := p.closed
		p.mu.Unlock()
		if closed {
			return DropClosed, false
		}
		return DropFull, false
	}
	var b []byte
	if n := len(p.spare); n > 0 {
		b, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	f := Frame{Bytes: parts.AppendTo(b[:0]), Offload: parts.Offload}
	f.Good = good
	p.come = append(p.come, f)
	p.mu.Unlock()
	if waiting == 0 {
		p.notify()
	}
	return 0, true
}

func (p *pipe) read(batch []Frame, wait time.Duration) (int, error) {
	n, again, err := p.take(batch)
	if !again || wait == 0 {
		return n, err
	}
	var timeout <-chan time.Time // from a timer of the runtime; nil: never
	if wait > 0 {
		if p.timer == nil {
			p.timer = time.NewTimer(wait)
		} else {
			p.timer.Reset(wait)
		}
		defer p.timer.Stop()
		timeout = p.timer.C
	}
	for {
		select {
		case <-p.signal:
		case <-timeout:
			return 0, nil
		}
		if n, again, err = p.take(batch); !again {
			return n, err
		}
	}
}

// take gives what waits, and says whether there is nothing to say.
func (p *pipe) take(batch []Frame) (n int, again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack()
	if p.closed {
		return 0, false, net.ErrClosed
	}
	if p.taken == len(p.next) {
		p.next, p.come, p.taken = p.come, p.next[:0], 0
	}
	if n = copy(batch, p.next[p.taken:]); n == 0 {
		woken := p.woken
		p.woken = false
		return 0, !woken, nil
	}
	p.taken += n
	p.lent = n
	return n, false, nil
}

// giveBack ends what the reader was lent.
func (p *pipe) giveBack() {
	for i := p.taken - p.lent; i < p.taken; i++ {
		if len(p.spare) < spareMost {
			p.spare = append(p.spare, p.next[i].Bytes)
		}
		p.next[i] = Frame{}
	}
	p.lent = 0
}
