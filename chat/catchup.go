package chat

import (
	"weir/chat/irc"
	"weir/chat/log"
	"weir/serve"
)

const (
	// replayBytes bounds what is replayed in one room, so that it fits into the outbox of a client
	// that has taken nothing yet.
	replayBytes = Outbox / 4
	// leastReplay is what is replayed in each of many rooms to a client that has not taken what it
	// was replayed in the first of them.
	leastReplay = log.MaxLine
)

// mayReplay is how many bytes of a room the session may be replayed now: it must not be closed as
// too slow because it comes back to many.
func (s *session) mayReplay() int {
	if sent, _ := serve.Delivered(s.conn); sent {
		s.replayed.Store(0)
	}
	return min(replayBytes, max(leastReplay, Outbox/2-int(s.replayed.Load())))
}

// catchUp makes a new seat live. A client without chathistory is replayed what its device missed;
// then every one is given what was delivered since it sat down, and the topic and the names; and
// from then on deliver sends to it. It runs at the desk. The session may stand in for that of the
// seat.
func (s *session) catchUp(seat *seat) {
	f := seat.feed
	s.svc.mu.Lock()
	f.waitSent() // perhaps to this session too, at a seat that it had before
	if r := f.room; r != nil {
		s.topic(r)
	}
	upTo := seat.seen.Load() // where deliver was when it sat down
	s.svc.unlock()
	if !s.has(irc.CapChathistory) {
		s.replay(seat, upTo)
	}
	s.readMarker(f)
	asNow, show := f.asNow(), shown{}
	for {
		s.svc.mu.Lock()
		if f.delivered <= upTo || seat.session.gone || seat.left {
			break
		}
		now := f.delivered
		s.svc.unlock()
		most := s.svc.opts().Replay
		lines := s.between(f, upTo, now, most)
		for _, line := range lines {
			show.view = s.capSet().View()
			s.out = show.append(s.out, "", asNow(line))
		}
		if upTo = now; len(lines) == most { // there may be more
			last := lines[len(lines)-1]
			upTo = last.Offset() + int64(len(last))
		}
	}
	defer s.svc.unlock()
	if seat.session.gone || seat.left { // left, or was thrown out, meanwhile
		return
	}
	if r := f.room; r != nil && !s.has(irc.CapNoImplicitNames) {
		s.names(r)
	}
	if s.flush() {
		seat.seen.Store(upTo)
		seat.live = true
	} else {
		s.svc.tooSlow(s)
	}
}

// waitSent waits while deliver sends a batch: then all who are to have it were sent it. The caller
// holds the lock.
func (f *feed) waitSent() {
	for f.sending {
		f.svc.handedOut.Wait()
	}
}

// sent is the offset up to which everybody was sent what they are to have, and behind which nobody
// was sent anything.
func (f *feed) sent() int64 {
	f.svc.mu.Lock()
	defer f.svc.mu.Unlock()
	f.waitSent()
	return f.delivered
}

// replay sends what the session's device missed before an offset.
func (s *session) replay(seat *seat, upTo int64) {
	f := seat.feed
	lines, err := f.whole(fit(s.missed(f, upTo), seat.session.mayReplay()))
	s.complain(f, err)
	if len(lines) == 0 {
		return
	}
	caps, extra, id := s.capSet(), "", ""
	if caps.Has(irc.CapBatch) {
		id = s.svc.batchName()
		extra = "batch=" + id
		s.say("BATCH", "+"+id, "chathistory", f.target(s))
	}
	asNow, show, before := f.asNow(), shown{view: caps.View()}, len(s.out)
	for _, line := range lines {
		s.out = show.append(s.out, extra, asNow(line))
	}
	seat.session.replayed.Add(int64(len(s.out) - before))
	if id != "" {
		s.say("BATCH", "-"+id)
	}
	s.svc.counts.replayed.Add(int64(len(lines)))
}

// missed are the lines that the session's device has not seen, the newest if they are too many. Who
// has no account, or was never here, has no mark, and gets a few.
func (s *session) missed(f *feed, upTo int64) []log.Line {
	from, marked := int64(0), false
	if s.login.Account != nil {
		from, marked = s.svc.accounts.Mark(s.login.Name, s.login.Device, f.key)
	}
	if !marked {
		return s.latest(f, min(guestReplay, s.svc.opts().Replay), upTo)
	}
	lines := s.latest(f, s.svc.opts().Replay, upTo)
	for len(lines) > 0 && lines[0].Offset() < from {
		lines = lines[1:]
	}
	return lines
}

// guestReplay is how many lines who has no mark is replayed.
const guestReplay = 50

// fit drops old lines until the rest has at most so many bytes.
func fit(lines []log.Line, most int) []log.Line {
	size := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if size += len(lines[i]); size > most {
			return lines[i+1:]
		}
	}
	return lines
}

// latest are the newest n lines before an offset.
func (s *session) latest(f *feed, n int, before int64) []log.Line {
	lines, err := f.log.Latest(n, before)
	s.complain(f, err)
	return lines
}

// between are the first n lines from an offset to another.
func (s *session) between(f *feed, from, before int64, n int) []log.Line {
	lines, err := f.log.After(from, n)
	s.complain(f, err)
	for i, line := range lines {
		if line.Offset() >= before {
			return lines[:i]
		}
	}
	return lines
}

func (s *session) complain(f *feed, err error) {
	if err != nil {
		s.svc.o.Log.Error("a log cannot be read", "log", f.key, "error", err)
	}
}

// keepMarks passes on how far every seat has come whose client has taken all that it was sent.
func (s *Service) keepMarks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		for _, seat := range r.seats {
			s.keepMark(seat, true)
		}
	}
	for _, f := range s.directs {
		for _, seat := range f.seats {
			s.keepMark(seat, true)
		}
	}
}

// keepMark passes on how far a seat has come, if its session has an account, and nothing of that
// waits here; surely: if the client has all of it. Who is to have seen what was lost on its way
// would never be told it. The caller holds the lock.
func (s *Service) keepMark(seat *seat, surely bool) {
	login, seen := seat.session.login, seat.seen.Load()
	if login.Account == nil || seen == seat.kept || !seat.live || seat.session.lost {
		return
	}
	if sent, taken := serve.Delivered(seat.session.conn); !sent || surely && !taken {
		return
	}
	seat.kept = seen
	s.accounts.SetMark(login.Name, login.Device, seat.feed.key, seen)
}
