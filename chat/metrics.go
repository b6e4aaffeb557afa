package chat

import "sync/atomic"

// counters count what passes.
type counters struct {
	connections, refused, commands, messages, batches, deliveries, replayed, notStored, tooSlow, throttled, crowded, logins, loginFailed, searches atomic.Int64
}

// Counts is what was counted since Open, and what there is now.
type Counts struct {
	Connections int64 // accepted, the refused ones included
	Refused     int64 // connections turned away at once
	Commands    int64 // lines that were understood
	Messages    int64 // put on their way to a log
	Batches     int64 // commits; messages by batches is how many share a sync
	Deliveries  int64 // messages times the sessions they were sent to
	Replayed    int64 // lines of history sent
	NotStored   int64 // messages that the log refused
	TooSlow     int64 // connections closed because they took nothing
	Throttled   int64 // commands that waited for their turn
	// connections that had to go, not registered, because there were too many such
	Crowded      int64
	Logins       int64
	LoginsFailed int64
	Searches     int64 // SEARCHes that were run

	Sessions, Users, Rooms, Directs int // now; rooms and direct conversations that are open
}

// Counts reads all counters.
func (s *Service) Counts() Counts {
	c := &s.counts
	all := Counts{Connections: c.connections.Load(), Refused: c.refused.Load(), Commands: c.commands.Load(), Messages: c.messages.Load(),
		Batches: c.batches.Load(), Deliveries: c.deliveries.Load(), Replayed: c.replayed.Load(), NotStored: c.notStored.Load(), TooSlow: c.tooSlow.Load(),
		Throttled: c.throttled.Load(), Crowded: c.crowded.Load(), Logins: c.logins.Load(), LoginsFailed: c.loginFailed.Load(),
		Searches: c.searches.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	all.Sessions, all.Users, all.Rooms, all.Directs = s.sessions, len(s.users), len(s.rooms), len(s.directs)
	return all
}
