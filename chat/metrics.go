package chat

// Counts are totals since Open, and current sizes.
type Counts struct {
	Connections int64 // accepted connections, the refused ones included
	Refused     int64 // connections refused at once
	Commands    int64 // lines that were parsed as commands
	Messages    int64 // messages enqueued for a log
	Batches     int64 // commits; messages / batches is how many messages share an fsync
	Deliveries  int64 // messages times their receiving sessions
	Replayed    int64 // lines sent as history or replay
	NotStored   int64 // messages that the log refused
	TooSlow     int64 // connections closed because their client did not read
	Throttled   int64 // commands delayed by the rate limit
	// unregistered connections closed to make room for newer ones
	Evicted      int64
	Logins       int64
	LoginsFailed int64
	Searches     int64 // searches run

	// current number; rooms and direct conversations that are open
	Sessions, Users, Rooms, Directs int
}

// countsNow returns all counters.
func (s *core) countsNow() Counts {
	all := s.counts
	all.Sessions, all.Users, all.Rooms, all.Directs = s.sessionCount, len(s.users), len(s.rooms), len(s.directs)
	return all
}

// Counts returns all counters.
func (s *Service) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.countsNow()
}
