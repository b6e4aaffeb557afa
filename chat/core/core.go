package core

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"time"

	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/internal/lobby"
)

// Core is the state of a chat and its rules: a pure state machine. It is called with commands and
// the time, by one goroutine at a time. It calls the connections of its sessions, which never wait,
// and leaves jobs and timers to its caller (effects). It starts nothing, and reads no clock.
type Core struct {
	env       environment.Environment
	fixed     Options // from the start; the source of Name, Network, Log and NoSearch
	current   *Options
	startedAt time.Time
	cloakSeed [seedSize]byte // secret of guests' cloaks
	now       time.Time      // time of the current call
	counts    Counts         // without the current numbers

	closing bool                     // no new connections; pending posts are committed
	users   map[string]*user         // by folded nick
	rooms   map[string]*room         // open rooms, by folded name
	directs map[string]*conversation // open direct conversations, by pairKey
	// sessions that monitor a nick, by folded nick
	monitors map[string]map[*Session]struct{}
	networks map[netip.Prefix]*networkUse // by lobby.Network
	lobby    *lobby.Lobby[*Session]       // connections that have not registered
	// command limits, and search limits under "search ACCOUNT", by account
	accountPaces      map[string]*pace
	sessionCount      int
	unregisteredCount int // sessions that have not registered
	peakSessions      int
	accountGeneration uint64        // generation of the accounts at the last enforceBans
	whowas            whowasHistory // history of WHOWAS
	guesses           guesses       // failed logins
	knownNetworks     knownNetworks // networks from which accounts have logged in
	networksDirty     bool          // knownNetworks has changed since it was written
	uploadTokens      uploadTokens
	// conversations that the index has not caught up with, by path
	indexBehind    map[string]data.Room
	indexReviewed  bool        // all conversations have been checked by the index since the start
	lastStamp      uint64      // last number of a walk over users or a delivery
	lastBatchID    uint64      // last id of an IRC batch
	idleDeliveries []*delivery // for reuse between batches

	tasks      map[*Task]struct{} // tasks that have not ended
	readyTasks taskQueue          // to continue before the call ends
	opening    taskLock           // serializes opening, closing and renaming of logs
	effects    effects
	// a task closes idle conversations
	closingIdle bool

	// Handover: see handover.go.
	frozenSessions     map[*Session]struct{}
	deferredDepartures []departure // ends of sessions during the freeze
	mustReconnect      reconnectScope
	awaitedAdoptions   int // connections still to be adopted
	adoptionDone       bool
}

// effects are what the caller of a core does after a call.
type effects struct {
	jobs   []*Task // whose jobs are to be run by a pool of workers
	timers []Timer
}

// Timer asks for a call of the core after some time.
type Timer struct {
	After time.Duration
	Call  func()
}

// seedSize is the length of cloakSeed in bytes.
const seedSize = 16

// Init initializes a core.
func (s *Core) Init(o Options, env environment.Environment, now time.Time) {
	s.env, s.fixed, s.current, s.startedAt, s.now = env, o, &o, now, now
	s.users, s.rooms, s.directs, s.monitors = map[string]*user{}, map[string]*room{}, map[string]*conversation{}, map[string]map[*Session]struct{}{}
	sum := sha256.Sum256([]byte(env.RandomText()))
	s.cloakSeed = [seedSize]byte(sum[:seedSize])
	s.networks, s.accountPaces, s.guesses, s.knownNetworks = map[netip.Prefix]*networkUse{}, map[string]*pace{}, guesses{}, knownNetworks{}
	s.lobby, s.tasks = lobby.New[*Session](o.MaxUnregistered, o.MaxUnregisteredPerAddress), map[*Task]struct{}{}
}

// Begin starts a call of the core at a time.
func (s *Core) Begin(now time.Time) { s.now = now }

// End ends a call of the core: tasks whose event has occurred continue. It returns the effects of
// the call: the tasks whose jobs are to be run, appended to jobs, and the timers.
func (s *Core) End(jobs []*Task) ([]*Task, []Timer) {
	s.continueReadyTasks()
	jobs, timers := append(jobs, s.effects.jobs...), s.effects.timers
	clear(s.effects.jobs)
	s.effects = effects{jobs: s.effects.jobs[:0]}
	return jobs, timers
}

// Outbox is how many bytes may wait for a client before it is disconnected: for
// serve.Options.SendQueue.
const Outbox = 1 << 20

// after calls a function of the core after some time.
func (s *Core) after(d time.Duration, call func()) {
	s.effects.timers = append(s.effects.timers, Timer{d, call})
}

// HasUnfinishedCommits reports whether any conversation has posts that are not delivered.
func (s *Core) HasUnfinishedCommits() bool {
	isUnfinished := func(f *conversation) bool { return f.committing || len(f.pending) > 0 }
	for _, r := range s.rooms {
		if isUnfinished(&r.conversation) {
			return true
		}
	}
	for _, f := range s.directs {
		if isUnfinished(f) {
			return true
		}
	}
	return false
}

// HasUnfinishedTasks reports whether any task has not ended, or any conversation has posts that are
// not delivered. The last step of a task may be to enqueue a post.
func (s *Core) HasUnfinishedTasks() bool { return len(s.tasks) > 0 || s.HasUnfinishedCommits() }

// BeginClosing refuses new connections from now on. It reports whether the core was open. The
// caller then waits for the end of unfinished commits, and calls StopTasks and CloseLogs.
func (s *Core) BeginClosing() (wasOpen bool) {
	wasOpen = !s.closing
	if wasOpen {
		s.closing = true
		s.retryStates()
	}
	return wasOpen
}

// StopTasks ends all tasks, which have no jobs any more.
func (s *Core) StopTasks() {
	for len(s.tasks) > 0 { // the end of one may start another
		for t := range s.tasks {
			s.StopTask(t, ErrStopping)
		}
	}
}

// CloseLogs closes the logs of all conversations, and calls closed after each. It waits for the
// disk. It is the last call.
func (s *Core) CloseLogs(closed func()) error {
	var errs []error
	for _, f := range s.openConversations() {
		if s.frozenSessions == nil {
			errs = append(errs, s.env.Storage.CloseLog(f.path(), f.log))
		} else { // after a handover another process uses the folders
			errs = append(errs, f.log.Close())
		}
		closed()
	}
	return errors.Join(errs...)
}

// openConversations returns all open conversations, by name.
func (s *Core) openConversations() []*conversation {
	var all []*conversation
	for _, r := range s.rooms {
		all = append(all, &r.conversation)
	}
	for _, f := range s.directs {
		all = append(all, f)
	}
	sortConversations(all)
	return all
}

// Tick does what is due every sweepEvery.
func (s *Core) Tick() {
	s.SaveReadMarkers()
	s.enforceBans()
	s.removeExpiredLimits()
	if s.frozenSessions != nil {
		return // a freeze allows no new commits and tasks
	}
	s.retryStates()
	if !s.closing {
		s.startClosingIdle()
	}
}

// startClosingIdle starts a task that closes idle conversations, unless there is one.
func (s *Core) startClosingIdle() {
	if s.closingIdle {
		return
	}
	s.closingIdle = true
	s.StartTask(OrdinaryJobs, func(t *Task) {
		defer func() { s.closingIdle = false }()
		s.closeIdle(t)
	}, func(reason error) {
		s.fixed.Log.Error("idle conversations were not closed", "error", reason)
	})
}

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

// Counts returns all counters.
func (s *Core) Counts() Counts {
	all := s.counts
	all.Sessions, all.Users, all.Rooms, all.Directs = s.sessionCount, len(s.users), len(s.rooms), len(s.directs)
	return all
}
