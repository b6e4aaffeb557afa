package link

import (
	"bytes"
	"container/heap"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ImpairConfig configures how a link is impaired.
type ImpairConfig struct {
	Seed uint64     // seed of the random numbers; each direction has its own sequence
	Out  Impairment // impairment of written frames
	In   Impairment // impairment of read frames
}

// Impaired is a link with impairments, which Set can change.
type Impaired struct {
	Link
	queues []*impairQueue
	out    outgoing
	in     atomic.Pointer[Fates] // nil: read frames are not impaired
	closed atomic.Bool
}

// Impair returns a link that delays, loses, duplicates and reorders the frames of l, like a bad
// network path. It takes l over. The same seed has the same effect on the same frames written in
// the same order (with a Rate: at the same times), in real time and in virtual time
// (testing/synctest). Without impairments, frames pass directly.
//
// A superframe is cut into its segments, and each has its own fate, as on a wire. A lost frame
// counts as sent for its writer, and as DropLost, or DropFull if the rate's queue had no room. The
// other counters are those of l.
//
// A timer's goroutine writes delayed frames to l, while there are any. Frames that were read and
// are delayed stay with the reader. Close stops the timer and drops frames in flight, whose number
// only the Delay limits.
func Impair(l Link, c ImpairConfig) (*Impaired, error) {
	i := &Impaired{Link: l}
	if err := i.Set(c); err != nil {
		return nil, err
	}
	for n := range l.Caps().Queues {
		i.queues = append(i.queues, &impairQueue{link: i, inner: l.Queue(n)})
	}
	return i, nil
}

// Set changes the impairments; the zero config removes them. Frames in flight arrive when they
// would have arrived, and later frames may overtake them. A Read that already waits may still
// return frames under the old config. After an error nothing has changed. Any goroutine may call it
// at any time.
func (i *Impaired) Set(c ImpairConfig) error {
	outward, err := NewFates(c.Out, c.Seed, 1)
	if err != nil {
		return fmt.Errorf("%w (Out)", err)
	}
	inward, err := NewFates(c.In, c.Seed, 2)
	if err != nil {
		return fmt.Errorf("%w (In)", err)
	}
	if c.Out == (Impairment{}) {
		outward = nil
	}
	if c.In == (Impairment{}) {
		inward = nil
	}
	i.out.fates.Store(outward)
	i.in.Store(inward)
	return nil
}

// Queue implements Link.
func (i *Impaired) Queue(n int) Queue { return i.queues[n] }

// Close implements Link.
func (i *Impaired) Close() error {
	i.closed.Store(true)
	i.out.close()
	return i.Link.Close()
}

// outgoing has the written frames in flight, of all queues.
type outgoing struct {
	fates atomic.Pointer[Fates] // nil: written frames are not impaired

	mu        sync.Mutex
	inFlight  delayHeap
	lastOrder uint64
	// calls onTimer when the first of inFlight is due; nil before the first delay
	timer   *time.Timer
	scratch []byte // buffer for a written frame in one part
	closed  bool
}

// write schedules a frame, or each of its segments. If it drops the frame, ok is false and why is
// the reason.
func (s *outgoing) write(w *Fates, q *impairQueue, p *Parts) (why Drop, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return DropClosed, false
	}
	s.scratch = p.AppendTo(s.scratch[:0])
	f := Frame{Bytes: s.scratch, Offload: p.Offload}
	if p.SegmentSize == 0 {
		s.schedule(w, q, &f)
		return 0, true
	}
	return DropRefused, segmentSuperframe(&f, q.link.Caps().Medium, true, func(segment *Frame) { s.schedule(w, q, segment) })
}

// schedule schedules the delivery of a frame, or drops it. It does not keep f's bytes.
func (s *outgoing) schedule(w *Fates, q *impairQueue, f *Frame) {
	now := time.Now()
	at, times, why := w.Decide(now, len(f.Bytes))
	if times == 0 {
		q.counts.drop(why)
		return
	}
	if len(s.inFlight) == 0 && !at.After(now) {
		for range times {
			q.forward(f)
		}
		return
	}
	kept := Frame{Bytes: bytes.Clone(f.Bytes), Offload: f.Offload}
	for range times {
		s.lastOrder++
		heap.Push(&s.inFlight, delayedFrame{deliverAt: at, order: s.lastOrder, queue: q, frame: kept})
	}
	s.deliver(now)
}

// onTimer is called by the timer.
func (s *outgoing) onTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver(time.Now())
}

// deliver writes the frames that are due to the inner link, and sets the timer for the next one.
func (s *outgoing) deliver(now time.Time) {
	for len(s.inFlight) > 0 && !s.inFlight[0].deliverAt.After(now) {
		p := heap.Pop(&s.inFlight).(delayedFrame)
		p.queue.forward(&p.frame)
	}
	if len(s.inFlight) == 0 {
		return
	}
	wait := s.inFlight[0].deliverAt.Sub(now)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.onTimer)
		return
	}
	s.timer.Reset(wait)
}

func (s *outgoing) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.inFlight {
		p.queue.counts.drop(DropClosed)
	}
	s.inFlight = nil
	if s.timer != nil {
		s.timer.Stop()
	}
}

// impairQueue is a queue with impairments.
type impairQueue struct {
	link   *Impaired
	inner  Queue
	counts queueCounters // drops only

	// Used by the reader only.
	delayed   delayHeap
	lastOrder uint64
	scratch   [32]Frame // frames read from the inner queue
}

// Wake implements Queue.
func (q *impairQueue) Wake() { q.inner.Wake() }

// Counters implements Queue.
func (q *impairQueue) Counters() Counters {
	c, own := q.inner.Counters(), q.counts.Counters()
	for i := range c.Dropped {
		c.Dropped[i] += own.Dropped[i]
	}
	return c
}

// forward writes a frame to the inner queue, which counts it.
func (q *impairQueue) forward(f *Frame) { q.inner.Write(&Parts{Head: f.Bytes, Offload: f.Offload}) }

// Write implements Queue. It reports whether the frame was sent.
func (q *impairQueue) Write(p *Parts) bool {
	w := q.link.out.fates.Load()
	if w == nil {
		return q.inner.Write(p)
	}
	caps := q.link.Caps()
	why, ok := DropRefused, caps.accepts(p)
	if ok {
		why, ok = q.link.out.write(w, q, p)
	}
	if !ok {
		q.counts.drop(why)
	}
	return ok
}

// Read implements Queue.
func (q *impairQueue) Read(batch []Frame, wait time.Duration) (int, error) {
	if q.link.in.Load() == nil && len(q.delayed) == 0 {
		return q.inner.Read(batch, wait)
	}
	now := time.Now()
	for end := now.Add(wait); ; {
		if q.link.closed.Load() {
			q.dropDelayed()
			return 0, net.ErrClosed
		}
		if n := q.popDue(batch, now); n > 0 {
			return n, nil
		}
		left := wait
		if wait > 0 {
			left = max(0, end.Sub(now))
		}
		if len(q.delayed) > 0 {
			if next := q.delayed[0].deliverAt.Sub(now); left < 0 || next < left {
				left = next
			}
		}
		n, err := q.inner.Read(q.scratch[:], left)
		if err != nil {
			return 0, err
		}
		asked := now
		now = time.Now()
		q.receive(now, q.scratch[:n])
		woken := n == 0 && (left < 0 || now.Sub(asked) < left)
		over := n == 0 && wait >= 0 && !now.Before(end)
		if woken || over {
			return q.popDue(batch, now), nil
		}
	}
}

// dropDelayed drops the frames that will not be read, because the link is closed.
func (q *impairQueue) dropDelayed() {
	for range q.delayed {
		q.counts.drop(DropClosed)
	}
	q.delayed = nil
}

// receive schedules the delivery of received frames.
func (q *impairQueue) receive(now time.Time, frames []Frame) {
	for i := range frames {
		f := &frames[i]
		if f.SegmentSize == 0 || !segmentSuperframe(f, q.link.Caps().Medium, f.ChecksumPartial, func(segment *Frame) { q.delay(now, segment) }) {
			q.delay(now, f)
		}
	}
}

// delay schedules the delivery of a copy of a received frame, or drops it.
func (q *impairQueue) delay(now time.Time, f *Frame) {
	at, times, why := now, 1, Drop(0)
	if w := q.link.in.Load(); w != nil {
		at, times, why = w.Decide(now, len(f.Bytes))
	}
	if times == 0 {
		q.counts.drop(why)
		return
	}
	for range times {
		q.lastOrder++
		heap.Push(&q.delayed, delayedFrame{deliverAt: at, order: q.lastOrder, frame: Frame{Bytes: bytes.Clone(f.Bytes), Offload: f.Offload}})
	}
}

// popDue moves frames that are due into batch.
func (q *impairQueue) popDue(batch []Frame, now time.Time) (n int) {
	for n < len(batch) && len(q.delayed) > 0 && !q.delayed[0].deliverAt.After(now) {
		batch[n] = heap.Pop(&q.delayed).(delayedFrame).frame
		n++
	}
	return n
}
