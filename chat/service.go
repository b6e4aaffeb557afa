package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/chat/account"
	"weir/chat/core"
	"weir/chat/environment"
	"weir/chat/internal/storage"
	"weir/chat/search"
	"weir/flow"
	"weir/internal/disk"
	"weir/internal/durable"
	"weir/serve"
)

// Service is a running chat. Its methods may be called from any goroutine.
type Service struct {
	// Immutable.
	dataDir    string
	opened     Options // of Open, with defaults
	dataLock   lockFile
	accounts   *account.Store
	pools      [core.JobPools]*flow.Net[*core.Task]
	ctx        context.Context // ends with Close
	cancel     func()          // ends ctx, and with it the goroutines of Open
	goroutines sync.WaitGroup  // goroutines started by Open
	// semaphore of password checks; capacity passwordChecksAtOnce, never closed
	passwordChecks chan struct{}
	fanouts        fanouts // used by the commit workers, closed after their end

	indexMu    sync.Mutex    // guards index and indexError
	index      *search.Index // nil: not needed yet
	indexError string        // last error of the index; "": none

	mu   sync.Mutex // guards the core, and all state reachable from it
	core core.Core
}

// Open opens the chat of a data directory, which it creates if necessary. Only one service may have
// it open.
func Open(dir string, o Options) (*Service, error) {
	if err := (durable.Files{Disk: o.Disk}).MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	lock, err := lockData(disk.Or(o.Disk), dir)
	if err != nil {
		return nil, err
	}
	return openWithLock(dir, o, lock)
}

// openWithLock opens the chat with a lock of its data directory, which Close closes.
func openWithLock(dir string, o Options, lock lockFile) (*Service, error) {
	o, err := withDefaults(o)
	storage := storage.New(dir, o.Disk, o.OnCommit, o.Log)
	if err == nil {
		err = adoptLock(o.Disk, dir, lock)
	}
	if err == nil {
		err = storage.RemoveLeftovers()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	accounts, err := account.Open(dir, account.Options{Disk: o.Disk, Registration: o.Registration, Now: o.Now,
		Report: func(err error) { o.Log.Warn("accounts", "error", err) }})
	if err != nil {
		lock.Close()
		return nil, err
	}
	s := &Service{dataDir: dir, opened: o, dataLock: lock, accounts: accounts, passwordChecks: make(chan struct{}, passwordChecksAtOnce)}
	s.core.Init(o, environment.Environment{Storage: storage, Accounts: accounts, Searcher: s, Fanout: &s.fanouts, RandomText: rand.Text}, o.Now())
	s.readNetworks()
	if err := s.startGoroutines(); err != nil {
		return nil, errors.Join(err, accounts.Close(), lock.Close())
	}
	return s, nil
}

const (
	// conversations committed at once: disks handle several fsyncs in parallel
	commitWidth       = 4
	searchWorkerCount = 2 // searches at once
	workerCount       = 4 // jobs at once: logins and histories need a CPU each
)

// startGoroutines builds and starts the nets, and starts all goroutines.
func (s *Service) startGoroutines() (err error) {
	for pool, p := range [core.JobPools]struct {
		name              string
		workers, capacity int
	}{
		core.OrdinaryJobs: {"workers", workerCount, s.opened.MaxConnections + maxServiceTasks},
		core.SearchJobs:   {"search", searchWorkerCount, s.opened.MaxConnections},
		core.CommitJobs:   {"commit", commitWidth, s.opened.MaxRooms},
	} {
		if s.pools[pool], err = s.newPool(p.name, p.workers, p.capacity); err == nil {
			err = s.pools[pool].Start(flow.Network)
		}
		if err != nil {
			return err
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.goroutines.Go(func() { s.runPeriodicTasks(s.ctx) }) // until Close
	if !s.opened.NoSearch {
		s.goroutines.Go(func() { s.runIndexer(s.ctx) }) // until Close
	}
	return nil
}

// stopGoroutines ends what startGoroutines has started. The pool of commits comes last, because the
// end of another job may put posts.
func (s *Service) stopGoroutines() {
	s.cancel()
	for _, pool := range s.pools {
		if err := pool.Stop(); err != nil {
			s.opened.Log.Error("work was abandoned", "error", err)
		}
	}
	s.goroutines.Wait()
	s.fanouts.close()
}

// Close stops the chat: pending posts are committed, read markers are written and files are closed.
// Sessions must have ended. It returns within a bounded time even if the disk hangs: then the error
// is errDiskHangs, and a file may stay open until the process ends.
func (s *Service) Close() error {
	isOpen := false
	if s.withLock(func() { isOpen = s.core.BeginClosing() }); !isOpen {
		return nil
	}
	for end := time.Now().Add(closeTimeout); s.hasUnfinishedCommits() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	s.stopGoroutines()
	s.withLock(s.core.StopTasks)
	return s.closeFiles()
}

// closeTimeout is how long Close waits for pending commits, and after that for each file.
const closeTimeout = 5 * time.Second

// errDiskHangs reports that files were not closed. No message that was acknowledged is affected.
var errDiskHangs = fmt.Errorf("chat: the disk did not answer within %v: files were not closed, check the disk", closeTimeout)

// closeFiles closes all files. It waits for the disk no longer than closeTimeout for each.
func (s *Service) closeFiles() error {
	// the goroutine below -> this call: its result, and that a log was closed; one value each, not
	// closed
	closed, progress := make(chan error, 1), make(chan struct{}, 1)
	go func() { // until the disk answers
		s.saveNetworks()
		errs := []error{s.accounts.Close()} // read markers first: the log of a room may hang
		if s.index != nil {
			errs = append(errs, s.index.Close())
		}
		logs := s.core.CloseLogs(func() {
			select {
			case progress <- struct{}{}:
			default:
			}
		})
		closed <- errors.Join(append(errs, logs, s.dataLock.Close())...)
	}()
	for {
		select {
		case err := <-closed:
			return err
		case <-progress:
		case <-time.After(closeTimeout):
			return errDiskHangs
		}
	}
}

func (s *Service) hasUnfinishedCommits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.HasUnfinishedCommits()
}

// isBusy reports whether any task has not ended, or any conversation has posts that are not
// delivered. It checks both under one hold of mu, because the last step of a task may be to enqueue
// a post.
func (s *Service) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.HasUnfinishedTasks()
}

// Sessions returns the service for serve.Run.
func (s *Service) Sessions() serve.Service {
	return serve.Service{State: serve.InProcess, Adopt: s.Adopt, Open: func(c serve.Conn) serve.Session { return s.Session(c, Peer{}) }}
}

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
			s.withLock(s.core.SaveReadMarkers)
			return
		case <-tick.C:
			s.withLock(s.core.Tick)
		case <-save.C:
			s.saveNetworks()
		}
	}
}

// Counts returns all counters.
func (s *Service) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Counts()
}
