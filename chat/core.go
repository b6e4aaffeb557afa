package chat

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"slices"
	"time"

	"weir/chat/data"
	"weir/chat/internal/lobby"
)

// core is the state of a chat and its rules: a pure state machine. It is called with commands and
// the time, by one goroutine at a time. It calls the connections of its sessions, which never wait,
// and leaves jobs and timers to its caller (effects). It starts nothing, and reads no clock.
type core struct {
	env       environment
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
	monitors map[string]map[*session]struct{}
	networks map[netip.Prefix]*networkUse // by lobby.Network
	lobby    *lobby.Lobby[*session]       // connections that have not registered
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

	tasks      map[*task]struct{} // tasks that have not ended
	readyTasks taskQueue          // to continue before the call ends
	opening    taskLock           // serializes opening, closing and renaming of logs
	effects    effects
	// a task closes idle conversations
	closingIdle bool

	// Handover: see handover.go.
	frozenSessions     map[*session]struct{}
	deferredDepartures []departure // ends of sessions during the freeze
	mustReconnect      reconnectScope
	awaitedAdoptions   int // connections still to be adopted
	adoptionDone       bool
}

// effects are what the caller of a core does after a call.
type effects struct {
	jobs   []*task // whose jobs are to be run by a pool of workers
	timers []timer
}

// timer asks for a call of the core after some time.
type timer struct {
	after time.Duration
	call  func()
}

// seedSize is the length of cloakSeed in bytes.
const seedSize = 16

// init initializes a core.
func (s *core) init(o Options, env environment, now time.Time) {
	s.env, s.fixed, s.current, s.startedAt, s.now = env, o, &o, now, now
	s.users, s.rooms, s.directs, s.monitors = map[string]*user{}, map[string]*room{}, map[string]*conversation{}, map[string]map[*session]struct{}{}
	sum := sha256.Sum256([]byte(env.randomText()))
	s.cloakSeed = [seedSize]byte(sum[:seedSize])
	s.networks, s.accountPaces, s.guesses, s.knownNetworks = map[netip.Prefix]*networkUse{}, map[string]*pace{}, guesses{}, knownNetworks{}
	s.lobby, s.tasks = lobby.New[*session](o.MaxUnregistered, o.MaxUnregisteredPerAddress), map[*task]struct{}{}
}

// begin starts a call of the core at a time.
func (s *core) begin(now time.Time) { s.now = now }

// end ends a call of the core: tasks whose event has occurred continue. It returns the effects of
// the call: the tasks whose jobs are to be run, appended to jobs, and the timers.
func (s *core) end(jobs []*task) ([]*task, []timer) {
	s.continueReadyTasksLocked()
	jobs, timers := append(jobs, s.effects.jobs...), s.effects.timers
	clear(s.effects.jobs)
	s.effects = effects{jobs: s.effects.jobs[:0]}
	return jobs, timers
}

// Outbox is how many bytes may wait for a client before it is disconnected: for
// serve.Options.SendQueue.
const Outbox = 1 << 20

// afterLocked calls a function of the core after some time.
func (s *core) afterLocked(d time.Duration, call func()) {
	s.effects.timers = append(s.effects.timers, timer{d, call})
}

// hasUnfinishedCommitsLocked reports whether any conversation has posts that are not delivered. The
// caller holds mu.
func (s *core) hasUnfinishedCommitsLocked() bool {
	return slices.ContainsFunc(s.openConversationsLocked(), func(f *conversation) bool { return f.committing || len(f.pending) > 0 })
}

// hasUnfinishedTasks reports whether any task has not ended, or any conversation has posts that are
// not delivered. The last step of a task may be to enqueue a post.
func (s *core) hasUnfinishedTasks() bool { return len(s.tasks) > 0 || s.hasUnfinishedCommitsLocked() }

// beginClosing refuses new connections from now on. It reports whether the core was open. The
// caller then waits for the end of unfinished commits, and calls stopTasks and closeLogs.
func (s *core) beginClosing() (wasOpen bool) {
	wasOpen = !s.closing
	if wasOpen {
		s.closing = true
		s.retryStatesLocked()
	}
	return wasOpen
}

// stopTasks ends all tasks, which have no jobs any more.
func (s *core) stopTasks() {
	for t := range s.tasks {
		s.stopTaskLocked(t, errStopping)
	}
}

// closeLogs closes the logs of all conversations. It waits for the disk. It is the last call.
func (s *core) closeLogs() error {
	var errs []error
	for _, f := range s.openConversationsLocked() {
		if s.frozenSessions == nil {
			errs = append(errs, s.env.storage.CloseLog(f.pathLocked(), f.log))
		} else { // after a handover another process uses the folders
			errs = append(errs, f.log.Close())
		}
	}
	return errors.Join(errs...)
}

// openConversationsLocked returns all open conversations. The caller holds mu.
func (s *core) openConversationsLocked() []*conversation {
	var all []*conversation
	for _, r := range s.rooms {
		all = append(all, &r.conversation)
	}
	for _, f := range s.directs {
		all = append(all, f)
	}
	return all
}

// tickLocked does what is due every sweepEvery. The caller holds mu.
func (s *core) tickLocked() {
	s.saveReadMarkersLocked()
	s.enforceBansLocked()
	s.removeExpiredLimitsLocked()
	if s.frozenSessions != nil {
		return // a freeze allows no new commits and tasks
	}
	s.retryStatesLocked()
	if !s.closing {
		s.startClosingIdleLocked()
	}
}

// startClosingIdleLocked starts a task that closes idle conversations, unless there is one. The
// caller holds mu.
func (s *core) startClosingIdleLocked() {
	if s.closingIdle {
		return
	}
	s.closingIdle = true
	s.startTaskLocked(ordinaryJobs, func(t *task) {
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

// countsNow returns all counters.
func (s *core) countsNow() Counts {
	all := s.counts
	all.Sessions, all.Users, all.Rooms, all.Directs = s.sessionCount, len(s.users), len(s.rooms), len(s.directs)
	return all
}
