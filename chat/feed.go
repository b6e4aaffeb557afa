package chat

import (
	"slices"
	"sync/atomic"
	"time"

	"weir/chat/irc"
	"weir/chat/log"
)

// feed is a conversation with a log: a room, or what two accounts say to each other.
type feed struct {
	svc  *Service
	name string   // as the log's lines name it; of a direct one, the names of both
	key  string   // by which marks know it
	self [1]*feed // itself, for Net.Put
	log  *log.Log
	room *room     // nil: direct
	pair [2]string // of a direct one: the folded accounts

	// Guarded by Service.mu.
	seats     []*seat
	pending   []post      // for the next batch
	queued    bool        // is in the net
	delivered int64       // the log's offset up to which deliver has handed out
	stateless bool        // the state file is behind
	moving    bool        // it is being renamed: what is pending waits
	sending   bool        // deliver writes to the seats that it saw
	indexed   int64       // the offset up to which it can be searched
	used      time.Time   // when it was opened, or last left
	told      time.Time   // when deliver last began to hand out
	until     time.Time   // when it rests no more; zero: it does not rest
	lately    int         // and how many posts
	alarm     *time.Timer // calls rise; nil: never was needed
	armed     bool        // alarm runs

	// Owned by the stage that has the feed.
	entries []log.Entry
	// of the batch under way; once it is committed, those that have a line in the log
	taken   []post
	changes []post // of the batch under way, those that have none
	batch   log.Batch
	err     error  // why the batch was refused
	stamp   uint64 // of its delivery
}

// post is one line on its way to the log and to the members.
type post struct {
	from  *session
	label string
	entry log.Entry // for the log; without a Body there is none
	text  bool      // an echo goes only to who asked for echoes: PRIVMSG, NOTICE, TAGMSG
	last  bool      // of a message of several lines, or of one

	// has the draft say what the room is to be, called under Service.mu; nil: it stays. See
	// change.go
	change  func(*draft)
	command string // of a change: what is refused if the disk does

	// unstored is called under Service.mu if the log refuses the line; nil: the session is told so.
	unstored func()
}

// seat is a session's place at a feed.
type seat struct {
	session *session
	feed    *feed
	live    bool         // guarded by Service.mu: messages are sent to it
	left    bool         // likewise: the session has it no more
	seen    atomic.Int64 // the offset up to which it was sent everything
	// of the batch under way, some is from the session: owned by the stage that has the feed
	said    bool
	labeled bool  // and with a label; likewise
	kept    int64 // guarded by Service.mu: what of this the account's mark has
}

// pendingLines is how many messages of a session may be under way.
const pendingLines = 64

// put adds posts to the next batch. The caller holds the lock and ends its hold by Service.unlock.
func (f *feed) put(posts ...post) {
	for _, p := range posts {
		p.from.pending.Add(1)
		if p.from.lastRoom = ""; f.room != nil {
			p.from.lastRoom = irc.Fold(f.name)
		}
	}
	f.pending = append(f.pending, posts...)
	f.svc.wants(f)
	for i := range posts {
		if posts[i].entry.Body != "" {
			f.svc.counts.messages.Add(1)
		}
	}
}

// wants puts a feed on the list of those that unlock launches.
func (s *Service) wants(f *feed) {
	if !f.queued && !f.moving && !f.rests() {
		f.queued, f.until = true, time.Time{}
		s.starting = append(s.starting, f)
	}
}

// locked calls f under the lock, and says what unlock does. The lock is given back if f panics.
func (s *Service) locked(f func()) (launched bool) {
	s.mu.Lock()
	defer func() { launched = s.unlock() }()
	f()
	return false
}

// unlock ends a hold of mu, and sends the feeds on their way that got something to commit
// meanwhile. It says whether there was any. Put does not wait: the queue has room for every feed
// there may be.
func (s *Service) unlock() (launched bool) { return s.release(s.commits.Put) }

// release is unlock with the way by which feeds are put into the net.
func (s *Service) release(put func([]*feed) int) (launched bool) {
	var few [4]*feed
	start := append(few[:0], s.starting...)
	s.starting = s.starting[:0]
	s.mu.Unlock()
	for _, f := range start {
		if put(f.self[:]) == 0 { // stopping
			s.lost(f, errStopping)
		}
	}
	return len(start) > 0
}

// seatOf is the session's seat, nil if it has none.
func (f *feed) seatOf(s *session) *seat {
	for _, seat := range f.seats {
		if seat.session == s {
			return seat
		}
	}
	return nil
}

// stand takes a session's seat away.
func (f *feed) stand(s *session) {
	for i, seat := range f.seats {
		if seat.session == s {
			f.svc.keepMark(seat, false)
			seat.left = true
			f.seats = slices.Delete(f.seats, i, i+1)
			f.used = f.svc.o.Now()
			return
		}
	}
}

// idleFeed is how long a conversation stays open that nobody takes part in.
const idleFeed = time.Minute

// closeIdle closes the logs of conversations that nobody takes part in: each has three files open.
func (s *Service) closeIdle() {
	s.opening.Lock()
	defer s.opening.Unlock()
	var idle []*feed
	s.mu.Lock()
	before := s.o.Now().Add(-idleFeed)
	for key, r := range s.rooms {
		if r.coming == 0 && r.isIdle(before) {
			idle = append(idle, &r.feed)
			delete(s.rooms, key)
		}
	}
	for key, f := range s.directs {
		if f.isIdle(before) {
			idle = append(idle, f)
			delete(s.directs, key)
		}
	}
	s.mu.Unlock()
	for _, f := range idle {
		if err := f.log.Close(); err != nil {
			s.o.Log.Error("a log cannot be closed", "log", f.key, "error", err)
		}
		f.removeBlank()
	}
}

func (f *feed) isIdle(before time.Time) bool {
	return len(f.seats) == 0 && len(f.pending) == 0 && !f.queued && !f.stateless && f.used.Before(before)
}
