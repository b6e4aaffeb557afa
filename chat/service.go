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
	o         Options // as at Open: Configure changes opts
	dir       string
	lock      *os.File
	accounts  *account.Store
	began     time.Time
	seed      [seedSize]byte // of cloaks
	commits   *flow.Net[*feed]
	desk      *flow.Net[*session]
	searchers *flow.Net[*session] // as desk, for searches
	filehost  *filehost
	life      context.Context // ends with Close
	stop      func()          // ends life, and so the goroutines of Open
	running   sync.WaitGroup  // these

	// of *delivery: from whoever has carried a batch -> to whoever carries the next
	deliveries sync.Pool
	counts     counters
	current    atomic.Pointer[Options] // never nil; what it points to is never changed

	indexing   sync.Mutex    // guards what follows
	index      *search.Index // nil: it was not needed yet
	indexFault string        // what was wrong with it last; "" nothing

	opening sync.Mutex // one log is opened at a time; before mu

	mu         sync.Mutex                       // guards what follows, and all that it leads to
	closed     bool                             // nobody is let in any more
	over       bool                             // the nets end
	users      map[string]*user                 // by folded nick
	rooms      map[string]*room                 // by folded name; those that are open
	directs    map[string]*feed                 // by direct's key; those that are open
	monitors   map[string]map[*session]struct{} // by folded nick: who wants to know
	perAddr    map[netip.Prefix]*visitors       // by lobby.Network
	waiting    *lobby.Lobby[*session]           // those who have not registered
	paces      map[string]*pace                 // by account
	sessions   int
	unknown    int // of these, not registered
	peak       int
	generation uint64     // of the accounts, when enforce last looked
	leavers    leavers    // for WHOWAS
	guesses    guesses    // at passwords
	acquainted acquainted // with accounts: where these were logged in to from
	strange    bool       // a network is missing in their file
	// by path: conversations that the index has not caught up with
	indexLate     map[string]data.Room
	indexReviewed bool          // the index has looked at all conversations since Open
	stamp         uint64        // of walks over users, and of deliveries
	batches       atomic.Uint64 // names of batches; shared
	starting      []*feed       // got something to commit since mu was taken
	// on mu: deliver has handed a batch out; for those in waitSent
	handedOut sync.Cond
	jobs      int // for the desk, under way

	// See handover.go; guarded by mu.
	// nil: nothing is frozen; otherwise those who wait until it is over
	frozen   map[*session]struct{}
	departed []departure // who went meanwhile
	// who cannot be handed over has to go, or everybody
	dismissing, dismissAll bool
	missing                int // connections still to be adopted
	settled                bool
	late                   *time.Timer // calls settle
}

// seedSize is how long the seed of cloaks is, in bytes.
const seedSize = 16

// Open opens the chat of a data directory, which is made if it is not there. Nobody else may have
// it open.
func Open(dir string, o Options) (*Service, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	lock, err := lockData(dir)
	if err != nil {
		return nil, err
	}
	return open(dir, o, lock)
}

// open is Open for who has the lock, which is closed with the service.
func open(dir string, o Options, lock *os.File) (*Service, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = takeLock(dir, lock)
	}
	if err == nil {
		err = tidy(dir)
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
	s := &Service{o: o, dir: dir, lock: lock, accounts: accounts, began: o.Now(), filehost: newFilehost(),
		users: map[string]*user{}, rooms: map[string]*room{}, directs: map[string]*feed{}, monitors: map[string]map[*session]struct{}{},
		perAddr: map[netip.Prefix]*visitors{}, waiting: lobby.New[*session](o.Unknown, o.UnknownEach), paces: map[string]*pace{}, guesses: guesses{}, acquainted: acquainted{}}
	rand.Read(s.seed[:])
	s.current.Store(&s.o)
	s.readAcquainted()
	s.handedOut.L = &s.mu
	s.deliveries.New = func() any { return new(delivery) }
	if err := s.start(); err != nil {
		return nil, errors.Join(err, accounts.Close(), lock.Close())
	}
	return s, nil
}

// lockData keeps others from the data directory until the file is closed.
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
	carryWidth  = 4 // rooms that are synced at once: disks take several
	searchWidth = 2 // searches at once
	deskWidth   = 4 // logins and histories at once: they need a processor each
)

// start builds the nets and starts their goroutines, and the sweeper's.
func (s *Service) start() (err error) {
	s.commits, err = flow.New([]flow.Stage[*feed]{
		{Name: "carry", Width: carryWidth, Do: flow.Each(s.carry)},
	}, []flow.Edge{{To: "carry", Cap: s.o.MaxRooms}}, s.lost, 0)
	if err != nil {
		return err
	}
	s.desk, err = flow.New([]flow.Stage[*session]{{Name: "desk", Width: deskWidth, Do: flow.Each(atDesk)}},
		[]flow.Edge{{To: "desk", Cap: s.o.Connections}}, abandoned, 0)
	if err != nil {
		return err
	}
	s.searchers, err = flow.New([]flow.Stage[*session]{{Name: "searchers", Width: searchWidth, Do: flow.Each(atDesk)}},
		[]flow.Edge{{To: "searchers", Cap: s.o.Connections}}, abandoned, 0)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.life, s.stop = ctx, stop
	s.running.Go(func() { s.commits.Run(ctx, flow.Network) })   // until Close
	s.running.Go(func() { s.desk.Run(ctx, flow.Network) })      // until Close
	s.running.Go(func() { s.searchers.Run(ctx, flow.Network) }) // until Close
	s.running.Go(func() { s.sweep(ctx) })                       // until Close
	if !s.o.NoSearch {
		s.running.Go(func() { s.followRooms(ctx) }) // until Close
	}
	nobody := []*session{nil}
	// until all take something
	for s.commits.Put([]*feed{nil}) == 0 || s.desk.Put(nobody) == 0 || s.searchers.Put(nobody) == 0 {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// Close stops the chat: what was accepted is committed, marks are written and files closed.
// Sessions must have ended.
func (s *Service) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.locked(s.retryStates)
	for end := time.Now().Add(closeWithin); s.underWay() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.locked(func() { s.over = true })
	s.stop()
	s.running.Wait()
	s.saveAcquainted()
	var errs []error
	s.mu.Lock()
	feeds := s.feeds()
	s.mu.Unlock()
	for _, f := range feeds {
		errs = append(errs, f.log.Close())
		if s.frozen == nil { // otherwise another process goes on with them
			f.removeBlank()
		}
	}
	if s.index != nil {
		errs = append(errs, s.index.Close())
	}
	return errors.Join(append(errs, s.accounts.Close(), s.lock.Close())...)
}

// closeWithin is how long Close lets the disk take what was said.
const closeWithin = 5 * time.Second

// underWay says whether some feed is in the net.
func (s *Service) underWay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stirring()
}

// stirring is underWay for who holds the lock.
func (s *Service) stirring() bool {
	return slices.ContainsFunc(s.feeds(), func(f *feed) bool { return f.queued || f.armed || len(f.pending) > 0 })
}

// feeds are all that are open. The caller holds the lock.
func (s *Service) feeds() []*feed {
	var all []*feed
	for _, r := range s.rooms {
		all = append(all, &r.feed)
	}
	for _, f := range s.directs {
		all = append(all, f)
	}
	return all
}

// Sessions is the service for serve.Run.
func (s *Service) Sessions() serve.Service {
	return serve.Service{State: serve.InProcess, Adopt: s.Adopt, Open: func(c serve.Conn) serve.Session { return s.Session(c, Peer{}) }}
}

// Outbox is how many bytes may wait for a slow client before it is closed: for serve.Options.SendQueue.
const Outbox = 1 << 20

// sweepEvery is how often marks are passed on and bans looked at.
const sweepEvery = 2 * time.Second

// sweep looks after what changes slowly, until ctx ends.
func (s *Service) sweep(ctx context.Context) {
	tick, save := time.NewTicker(sweepEvery), time.NewTicker(acquaintedEvery)
	defer tick.Stop()
	defer save.Stop()
	for {
		select {
		case <-ctx.Done():
			s.keepMarks()
			return
		case <-tick.C:
			s.keepMarks()
			s.enforce()
			s.locked(s.forgive)
			s.locked(func() {
				if s.frozen == nil { // otherwise nothing begins
					s.retryStates()
				}
			})
			s.closeIdle()
		case <-save.C:
			s.saveAcquainted()
		}
	}
}
