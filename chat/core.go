package chat

import (
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

	phase   servicePhase
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

// servicePhase is the state of a service from Open to Close.
type servicePhase uint8

const (
	phaseOpen     servicePhase = iota
	phaseClosing               // no new connections; pending posts are committed
	phaseStopping              // the nets are stopping; no conversation is scheduled by a timer
)

// seedSize is the length of cloakSeed in bytes.
const seedSize = 16

// init initializes a core.
func (s *core) init(o Options, env environment, now time.Time) {
	s.env, s.fixed, s.current, s.startedAt, s.now = env, o, &o, now, now
	s.users, s.rooms, s.directs, s.monitors = map[string]*user{}, map[string]*room{}, map[string]*conversation{}, map[string]map[*session]struct{}{}
	s.networks, s.accountPaces, s.guesses, s.knownNetworks = map[netip.Prefix]*networkUse{}, map[string]*pace{}, guesses{}, knownNetworks{}
	s.lobby, s.tasks = lobby.New[*session](o.MaxUnregistered, o.MaxUnregisteredPerAddress), map[*task]struct{}{}
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
	if s.phase == phaseOpen {
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
