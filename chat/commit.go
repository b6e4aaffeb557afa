package chat

import (
	"errors"
	"slices"
	"time"

	"weir/chat/log"
	"weir/flow"
)

// The way of a message is one stage of a net, four at once, in which a feed is once at most, so
// that its batches come in order:
//
//  1. commit takes what is pending, writes the room's state if that changes, and appends lines to
//     the log in one write and one sync: a topic is on the disk as both before anybody is shown it.
//  2. deliver hands it to everybody who is there: see deliver.go.
//  3. When something is pending again, the feed is put back.
//
// Commit and deliver are not two stages because at a few hundred messages a second waking up
// another goroutine would cost more than it frees.

var errStopping = errors.New("the server is stopping")

// carry is the stage.
func (s *Service) carry(f *feed, out *flow.Out[*feed]) {
	if f == nil { // Open asks whether the net runs
		return
	}
	s.commit(f)
	d := s.deliveries.Get().(*delivery)
	s.deliver(f, d)
	s.again(f, d, out)
	s.deliveries.Put(d)
}

// commit has the disk take what is pending: what changes the room first, see change.go, then what
// the log has a line of.
func (s *Service) commit(f *feed) {
	s.mu.Lock()
	f.taken, f.pending = f.pending, f.taken[:0]
	changes := f.stateless
	s.mu.Unlock()
	f.entries = f.entries[:0]
	for i := range f.taken {
		changes = changes || f.taken[i].change != nil
	}
	var d *draft
	if changes {
		d = f.changeRoom()
	}
	lines := false // some are changes too
	for i := range f.taken {
		f.entries = append(f.entries, f.taken[i].entry)
		lines = lines || f.taken[i].change != nil
	}
	f.batch, f.err = log.Batch{}, nil
	if len(f.entries) > 0 {
		began := time.Now()
		f.batch, f.err = f.log.Append(f.entries)
		s.o.Committed(time.Since(began), f.err)
	}
	if f.err != nil && lines {
		d = f.retract()
	}
	if d != nil {
		f.hold(d)
	}
}

// lost settles a feed that fell out of the net: a stage panicked, or the service stops.
func (s *Service) lost(f *feed, why error) {
	if f == nil {
		return
	}
	s.o.Log.Error("messages lost before they were acknowledged, or not delivered to all", "log", f.key, "error", why)
	s.mu.Lock()
	posts := slices.Concat(f.changes, f.taken, f.pending)
	stored := 0
	if f.sending {
		stored = len(f.taken)
		f.breakOff()
	}
	f.changes, f.taken, f.pending = nil, nil, nil
	f.queued = false
	s.mu.Unlock()
	f.refuse(posts[stored:], why)
	f.settle(posts)
}

// breakOff ends a delivery in its middle. Who was not sent what the log has must come again, and
// read it there. The caller holds the lock.
func (f *feed) breakOff() {
	for _, seat := range f.seats {
		if seat.live && seat.seen.Load() < f.delivered {
			f.svc.tooSlow(seat.session)
		}
	}
	f.sending = false
	f.svc.handedOut.Broadcast()
}

// refuse tells who sent posts that they are not stored.
func (f *feed) refuse(posts []post, why error) {
	f.svc.counts.notStored.Add(int64(len(posts)))
	for _, p := range posts {
		if p.unstored != nil {
			f.svc.locked(p.unstored)
		} else if p.last {
			p.from.conn.Send(p.from.refusal(f, p, why))
		}
	}
}

// settle tells the sessions that wait for posts that these are done.
func (f *feed) settle(posts []post) {
	for _, p := range posts {
		if s := p.from; s.pending.Add(-1) == 0 && s.waiting.Swap(false) {
			s.conn.Post()
		}
	}
}
