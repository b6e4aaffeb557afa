package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/chat/account"
	"weir/chat/data"
	"weir/chat/internal/lobby"
	"weir/chat/search"
	"weir/flow"
	"weir/internal/durable"
	"weir/serve"
)

// Service is a running chat. Its methods may be called from any goroutine.
type Service struct {
	// Immutable.
	fixed         Options // from Open; the source of Name, Network, Now, Log and NoSearch
	dataDir       string
	dataLock      *os.File
	accounts      *account.Store
	startedAt     time.Time
	cloakSeed     [seedSize]byte // secret of guests' cloaks
	commitNet     *flow.Net[*conversation]
	workers       *flow.Net[*task]
	searchWorkers *flow.Net[*task] // worker pool of searches
	filehost      *filehost
	ctx           context.Context // ends with Close
	cancel        func()          // ends ctx, and with it the goroutines of Open
	goroutines    sync.WaitGroup  // goroutines started by Open

	// of *delivery, for reuse between batches
	deliveryPool   sync.Pool
	counters       counters
	currentOptions atomic.Pointer[Options] // never nil; the options it points to are immutable

	indexMu    sync.Mutex    // guards index and indexError
	index      *search.Index // nil: not needed yet
	indexError string        // last error of the index; "": none

	mu      sync.Mutex // guards the fields below, and all state reachable from them
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
	// conversations that the index has not caught up with, by path
	indexBehind   map[string]data.Room
	indexReviewed bool               // all conversations have been checked by the index since Open
	lastStamp     uint64             // last number of a walk over users or a delivery
	lastBatchID   atomic.Uint64      // last id of an IRC batch; atomic
	tasks         map[*task]struct{} // tasks that have not ended
	opening       taskLock           // serializes opening, closing and renaming of logs

	// Effects of the current hold of mu: see unlockAndCommit.
	toCommit   []*conversation // to be put into the commit net
	jobs       []*task         // whose jobs are to be put into a worker pool
	readyTasks taskQueue       // to continue before mu is released

	// Handover, guarded by mu: see handover.go.
	frozenSessions     map[*session]struct{}
	deferredDepartures []departure // ends of sessions during the freeze
	mustReconnect      reconnectScope
	awaitedAdoptions   int // connections still to be adopted
	adoptionDone       bool
	adoptTimer         *time.Timer // calls finishAdoption
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

// Open opens the chat of a data directory, which it creates if necessary. Only one service may have
// it open.
func Open(dir string, o Options) (*Service, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	lock, err := lockData(dir)
	if err != nil {
		return nil, err
	}
	return openWithLock(dir, o, lock)
}

// openWithLock opens the chat with a lock of its data directory, which Close closes.
func openWithLock(dir string, o Options, lock *os.File) (*Service, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = adoptLock(dir, lock)
	}
	if err == nil {
		err = removeLeftovers(dir)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	accounts, err := account.Open(dir, account.Options{Registration: o.Registration, Now: o.Now,
		Report: func(err error) { o.Log.Warn("accounts", "error", err) }})
	if err != nil {
		lock.Close()
		return nil, err
	}
	s := &Service{fixed: o, dataDir: dir, dataLock: lock, accounts: accounts, startedAt: o.Now(), filehost: newFilehost(),
		users: map[string]*user{}, rooms: map[string]*room{}, directs: map[string]*conversation{}, monitors: map[string]map[*session]struct{}{},
		networks: map[netip.Prefix]*networkUse{}, lobby: lobby.New[*session](o.MaxUnregistered, o.MaxUnregisteredPerAddress), accountPaces: map[string]*pace{}, guesses: guesses{}, knownNetworks: knownNetworks{}, tasks: map[*task]struct{}{}}
	rand.Read(s.cloakSeed[:])
	s.currentOptions.Store(&s.fixed)
	s.readNetworks()
	s.deliveryPool.New = func() any { return new(delivery) }
	if err := s.startGoroutines(); err != nil {
		return nil, errors.Join(err, accounts.Close(), lock.Close())
	}
	return s, nil
}

// lockData locks the data directory until the file is closed.
func lockData(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		by := make([]byte, 16)
		n, _ := f.Read(by)
		f.Close()
		return nil, fmt.Errorf("chat: %s is in use by another server (process %s): stop it first, or choose another folder", dir, by[:max(0, n-1)])
	}
	return f, nil
}

const (
	// conversations committed at once: disks handle several fsyncs in parallel
	commitWidth       = 4
	searchWorkerCount = 2 // searches at once
	workerCount       = 4 // jobs at once: logins and histories need a CPU each
)

// startGoroutines builds and starts the nets, and starts all goroutines.
func (s *Service) startGoroutines() (err error) {
	s.commitNet, err = flow.New([]flow.Stage[*conversation]{
		{Name: "commit", Width: commitWidth, Do: flow.Each(s.commitAndDeliver)},
	}, []flow.Edge{{To: "commit", Cap: s.fixed.MaxRooms}}, s.failConversation, 0)
	if err == nil {
		s.workers, err = s.newPool("workers", workerCount, s.fixed.MaxConnections+maxServiceTasks)
	}
	if err == nil {
		s.searchWorkers, err = s.newPool("search", searchWorkerCount, s.fixed.MaxConnections)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(s.commitNet.Start(flow.Network), s.workers.Start(flow.Network), s.searchWorkers.Start(flow.Network)); err != nil {
		return err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.goroutines.Go(func() { s.runPeriodicTasks(s.ctx) }) // until Close
	if !s.fixed.NoSearch {
		s.goroutines.Go(func() { s.runIndexer(s.ctx) }) // until Close
	}
	return nil
}

// stopGoroutines ends what startGoroutines has started. Workers come first, because the end of a
// job may put posts.
func (s *Service) stopGoroutines() {
	s.cancel()
	for _, err := range []error{s.workers.Stop(), s.searchWorkers.Stop(), s.commitNet.Stop()} {
		if err != nil {
			s.fixed.Log.Error("work was abandoned", "error", err)
		}
	}
	s.goroutines.Wait()
}

// Close stops the chat: pending posts are committed, read markers are written and files are closed.
// Sessions must have ended.
func (s *Service) Close() error {
	s.mu.Lock()
	if s.phase != phaseOpen {
		s.mu.Unlock()
		return nil
	}
	s.phase = phaseClosing
	s.mu.Unlock()
	s.withLock(s.retryStatesLocked)
	for end := time.Now().Add(closeTimeout); s.hasUnfinishedCommits() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.withLock(func() { s.phase = phaseStopping })
	s.stopGoroutines()
	s.withLock(func() {
		for t := range s.tasks {
			s.stopTaskLocked(t, errStopping)
		}
	})
	s.saveNetworks()
	var errs []error
	for _, f := range s.openConversations() {
		path := f.pathLocked()
		errs = append(errs, f.log.Close())
		if s.frozenSessions == nil { // after a handover another process uses the folders
			s.removeFolderIfUnused(f.log, path)
		}
	}
	if s.index != nil {
		errs = append(errs, s.index.Close())
	}
	return errors.Join(append(errs, s.accounts.Close(), s.dataLock.Close())...)
}

// closeTimeout is how long Close waits for pending commits.
const closeTimeout = 5 * time.Second

func (s *Service) hasUnfinishedCommits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasUnfinishedCommitsLocked()
}

// isBusy reports whether any task has not ended, or any conversation has posts that are not
// delivered. It checks both under one hold of mu, because the last step of a task may be to enqueue
// a post.
func (s *Service) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks) > 0 || s.hasUnfinishedCommitsLocked()
}

func (s *Service) openConversations() []*conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openConversationsLocked()
}

// hasUnfinishedCommitsLocked reports whether any conversation has posts that are not delivered. The
// caller holds mu.
func (s *Service) hasUnfinishedCommitsLocked() bool {
	return slices.ContainsFunc(s.openConversationsLocked(), func(f *conversation) bool { return f.inCommitNet || f.windowTimerRuns || len(f.pending) > 0 })
}

// openConversationsLocked returns all open conversations. The caller holds mu.
func (s *Service) openConversationsLocked() []*conversation {
	var all []*conversation
	for _, r := range s.rooms {
		all = append(all, &r.conversation)
	}
	for _, f := range s.directs {
		all = append(all, f)
	}
	return all
}

// Sessions returns the service for serve.Run.
func (s *Service) Sessions() serve.Service {
	return serve.Service{State: serve.InProcess, Adopt: s.Adopt, Open: func(c serve.Conn) serve.Session { return s.Session(c, Peer{}) }}
}

// Outbox is how many bytes may wait for a client before it is disconnected: for
// serve.Options.SendQueue.
const Outbox = 1 << 20

// sweepEvery is how often periodic tasks run, such as storing read markers and checking bans.
const sweepEvery = 2 * time.Second

// runPeriodicTasks runs periodic tasks until ctx ends.
func (s *Service) runPeriodicTasks(ctx context.Context) {
	tick, save := time.NewTicker(sweepEvery), time.NewTicker(saveNetworksEvery)
	defer tick.Stop()
	defer save.Stop()
	for {
		select {
		case <-ctx.Done():
			s.withLock(s.saveReadMarkersLocked)
			return
		case <-tick.C:
			s.withLock(s.tickLocked)
		case <-save.C:
			s.saveNetworks()
		}
	}
}

// tickLocked does what is due every sweepEvery. The caller holds mu.
func (s *Service) tickLocked() {
	s.saveReadMarkersLocked()
	s.enforceBansLocked()
	s.removeExpiredLimitsLocked()
	if s.frozenSessions != nil {
		return // a freeze allows no new commits and tasks
	}
	s.retryStatesLocked()
	if s.phase == phaseOpen {
		s.startTaskLocked(ordinaryJobs, s.closeIdle, func(reason error) {
			s.fixed.Log.Error("idle conversations were not closed", "error", reason)
		})
	}
}
