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

// ImpairConfig says how a link is spoilt.
type ImpairConfig struct {
	Seed uint64     // of all that is left to chance; each direction has its own numbers
	Out  Impairment // of frames that are written
	In   Impairment // of frames that are read
}

// Impaired is a link that is spoilt. How it is, can change: see Set.
type Impaired struct {
	Link
	queues []*impairQueue
	out    sending
	in     atomic.Pointer[way] // nil: nothing is done to what is read
	closed atomic.Bool
}

// Impair does to frames what a bad way does. It takes l over. The same seed does the same to the
// same frames written in the same order (with a Rate: at the same times, too), in real time and in
// virtual time (testing/synctest). Where nothing is to be done, frames pass as if it were not
// there.
//
// A superframe is cut into its segments, and each has its own fate, as on a wire. What is lost
// counts as sent for who writes it, and is counted as lost or, for lack of room in the queue, full.
// The other counters are those of l.
//
// What is written and delayed is given to l by a timer's goroutine, which runs while frames are
// due; what is read and delayed is kept by the reader. Close stops the timer, and drops what is on
// its way. How much that is, is bounded by the Delay alone.
func Impair(l Link, c ImpairConfig) (*Impaired, error) {
	i := &Impaired{Link: l}
	if err := i.Set(c); err != nil {
		return nil, err
	}
	for n := range l.Caps().Queues {
		i.queues = append(i.queues, &impairQueue{link: i, behind: l.Queue(n)})
	}
	return i, nil
}

// Set has the link spoilt in another way from now on; the zero config ends it. What is on its way
// already comes when it would have come, and what is sent later may come before it. Frames for a
// reader that waits already may still come as it was before. After an error nothing is changed. It
// may be called at any time, by any goroutine.
func (i *Impaired) Set(c ImpairConfig) error {
	out, err := c.Out.withDefaults()
	if err != nil {
		return fmt.Errorf("%w (Out)", err)
	}
	in, err := c.In.withDefaults()
	if err != nil {
		return fmt.Errorf("%w (In)", err)
	}
	var outward, inward *way
	if c.Out != (Impairment{}) {
		outward = newWay(out, c.Seed, 1)
	}
	if c.In != (Impairment{}) {
		inward = newWay(in, c.Seed, 2)
	}
	i.out.way.Store(outward)
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

// sending is what is written and on its way, of all queues.
type sending struct {
	way atomic.Pointer[way] // nil: nothing is done to what is written

	mu      sync.Mutex
	going   parcels
	nth     uint64
	timer   *time.Timer // calls due when the first of going is to come; nil: none was needed yet
	scratch []byte      // what is written, in one part
	closed  bool
}

// write sends a frame, or each of its segments, on its way, or says why not.
func (s *sending) write(w *way, q *impairQueue, p *Parts) (why Drop, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return DropClosed, false
	}
	s.scratch = p.AppendTo(s.scratch[:0])
	f := Frame{Bytes: s.scratch, Offload: p.Offload}
	if p.Size == 0 {
		s.admit(w, q, &f)
		return 0, true
	}
	return DropRefused, cut(&f, true, func(segment *Frame) { s.admit(w, q, segment) })
}

// admit sends a frame on its way. Its bytes are the caller's again.
func (s *sending) admit(w *way, q *impairQueue, f *Frame) {
	now := time.Now()
	at, times, why := w.fate(now, len(f.Bytes))
	if times == 0 {
		q.counts.drop(why)
		return
	}
	if len(s.going) == 0 && !at.After(now) {
		for range times {
			q.pass(f)
		}
		return
	}
	kept := Frame{Bytes: bytes.Clone(f.Bytes), Offload: f.Offload}
	for range times {
		s.nth++
		heap.Push(&s.going, parcel{at: at, nth: s.nth, queue: q, frame: kept})
	}
	s.deliver(now)
}

// due is the timer's.
func (s *sending) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliver(time.Now())
}

// deliver gives what is due to the link behind, and has the timer call for the next one.
func (s *sending) deliver(now time.Time) {
	for len(s.going) > 0 && !s.going[0].at.After(now) {
		p := heap.Pop(&s.going).(parcel)
		p.queue.pass(&p.frame)
	}
	if len(s.going) == 0 {
		return
	}
	wait := s.going[0].at.Sub(now)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.due)
		return
	}
	s.timer.Reset(wait)
}

func (s *sending) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.going {
		p.queue.counts.drop(DropClosed)
	}
	s.going = nil
	if s.timer != nil {
		s.timer.Stop()
	}
}

// impairQueue is a queue that is spoilt.
type impairQueue struct {
	link   *Impaired
	behind Queue
	counts counts // of drops only

	// The reader's.
	coming  parcels
	nth     uint64
	scratch [32]Frame // what the queue behind has given
}

// Wake implements Queue.
func (q *impairQueue) Wake() { q.behind.Wake() }

// Counters implements Queue.
func (q *impairQueue) Counters() Counters {
	c, own := q.behind.Counters(), q.counts.Counters()
	for i := range c.Dropped {
		c.Dropped[i] += own.Dropped[i]
	}
	return c
}

// pass gives a frame to the queue behind, which counts what becomes of it.
func (q *impairQueue) pass(f *Frame) { q.behind.Write(&Parts{Head: f.Bytes, Offload: f.Offload}) }

// Write implements Queue.
func (q *impairQueue) Write(p *Parts) bool {
	w := q.link.out.way.Load()
	if w == nil {
		return q.behind.Write(p)
	}
	caps := q.link.Caps()
	why, ok := DropRefused, caps.takes(p)
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
	if q.link.in.Load() == nil && len(q.coming) == 0 {
		return q.behind.Read(batch, wait)
	}
	now := time.Now()
	for end := now.Add(wait); ; {
		if q.link.closed.Load() {
			q.forget()
			return 0, net.ErrClosed
		}
		if n := q.arrived(batch, now); n > 0 {
			return n, nil
		}
		left := wait
		if wait > 0 {
			left = max(0, end.Sub(now))
		}
		if len(q.coming) > 0 {
			if next := q.coming[0].at.Sub(now); left < 0 || next < left {
				left = next
			}
		}
		n, err := q.behind.Read(q.scratch[:], left)
		if err != nil {
			return 0, err
		}
		asked := now
		now = time.Now()
		q.take(now, q.scratch[:n])
		woken := n == 0 && (left < 0 || now.Sub(asked) < left)
		over := n == 0 && wait >= 0 && !now.Before(end)
		if woken || over {
			return q.arrived(batch, now), nil
		}
	}
}

// forget drops what came and is not read any more: the link is closed.
func (q *impairQueue) forget() {
	for range q.coming {
		q.counts.drop(DropClosed)
	}
	q.coming = nil
}

// take has frames that came be on their way.
func (q *impairQueue) take(now time.Time, frames []Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Size == 0 || !cut(f, f.Partial, func(segment *Frame) { q.keep(now, segment) }) {
			q.keep(now, f)
		}
	}
}

// keep has a copy of a frame that came be read when it is its time.
func (q *impairQueue) keep(now time.Time, f *Frame) {
	at, times, why := now, 1, Drop(0)
	if w := q.link.in.Load(); w != nil {
		at, times, why = w.fate(now, len(f.Bytes))
	}
	if times == 0 {
		q.counts.drop(why)
		return
	}
	for range times {
		q.nth++
		heap.Push(&q.coming, parcel{at: at, nth: q.nth, frame: Frame{Bytes: bytes.Clone(f.Bytes), Offload: f.Offload}})
	}
}

// arrived gives the frames whose time it is.
func (q *impairQueue) arrived(batch []Frame, now time.Time) (n int) {
	for n < len(batch) && len(q.coming) > 0 && !q.coming[0].at.After(now) {
		batch[n] = heap.Pop(&q.coming).(parcel).frame
		n++
	}
	return n
}
