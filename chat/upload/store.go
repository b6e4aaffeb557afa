package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

// Errors of uploads; those around them say more, to whoever uploads.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrQuota    = errors.New("the account has uploaded as much as it may today")
	ErrBusy     = errors.New("too many uploads are under way")
	ErrFull     = errors.New("there is no room for more files")
	ErrRemoved  = errors.New("an administrator has removed this file")
	ErrNone     = errors.New("there is no such file")
)

// Options of a store. The zero value of a field gives its default.
type Options struct {
	MaxBytes int64         // of a file. Default 25 MiB
	DayBytes int64         // an account may upload in 24 hours. Default 250 MiB
	DayFiles int           // likewise. Default 200
	Total    int64         // bytes of all files together. Default 10 GiB
	Keep     time.Duration // files go when they are so old. Default 0: never

	Now func() time.Time // the clock. Default time.Now
}

func (o Options) withDefaults() Options {
	or := func(field *int64, otherwise int64) {
		if *field == 0 {
			*field = otherwise
		}
	}
	or(&o.MaxBytes, 25<<20)
	or(&o.DayBytes, 250<<20)
	or(&o.Total, 10<<30)
	if o.DayFiles == 0 {
		o.DayFiles = 200
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store are the files of one data directory. Any number of goroutines may use it.
type Store struct {
	root string // DATA/uploads

	mu      sync.Mutex // guards what follows
	o       Options
	files   map[string]*file
	total   int64 // of files and of what is coming in
	members map[string]*member
	coming  int // uploads under way
}

// file is a file that is there.
type file struct {
	size int64
	record
}

// member is what an account has done in the last day.
type member struct {
	coming int // uploads under way
	uses   []use
}

type use struct {
	at    time.Time
	bytes int64
}

const day = 24 * time.Hour

// Open opens the store of a data directory, and makes it if it is not there.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{root: filepath.Join(dir, "uploads"), o: o.withDefaults(), files: map[string]*file{}, members: map[string]*member{}}
	if err := durable.MkdirAll(s.root, 0o700); err != nil {
		return nil, err
	}
	if err := removeLeft(s.root); err != nil {
		return nil, err
	}
	var removed []string
	err := scan(s.root, func(hash string, size int64, r record) {
		if size < 0 {
			return
		}
		// by who died before its content was gone, or in a copy that was made meanwhile
		if !r.removed.IsZero() {
			_, path := place(s.root, hash)
			removed = append(removed, path)
			return
		}
		s.files[hash] = &file{size, r}
		s.total += cost(size)
		for _, sharing := range r.sharings {
			if s.o.Now().Sub(sharing.At) < day {
				m := s.member(sharing.Account)
				m.uses = append(m.uses, use{sharing.At, size})
			}
		}
	})
	for _, path := range removed {
		err = errors.Join(err, os.Remove(path))
	}
	for _, m := range s.members {
		slices.SortFunc(m.uses, func(a, b use) int { return a.at.Compare(b.at) })
	}
	return s, err
}

// removeLeft removes what a server that was killed was writing, and no other writes now.
func removeLeft(root string) error {
	names, err := filepath.Glob(filepath.Join(root, ".new-*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = os.Remove(name)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return removeRecords(root)
}

// removeRecords removes records that a server that was killed was writing.
func removeRecords(root string) error {
	unlock, err := lockFolder(root)
	if err != nil {
		return err
	}
	defer unlock()
	folders, err := os.ReadDir(root)
	for _, folder := range folders {
		if folder.IsDir() {
			// older versions' names
			err = errors.Join(err, durable.RemoveTemps(filepath.Join(root, folder.Name()), ".info-*"))
		}
	}
	return err
}

// Configure has other limits hold from now on.
func (s *Store) Configure(o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Now = s.o.Now
	s.o = o.withDefaults()
}

// Usage is how many files there are, and what they count against Options.Total, with what is coming
// in.
func (s *Store) Usage() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files), s.total
}

// cost is what a file takes on a disk, and its info file.
func cost(size int64) int64 {
	const block = 4096
	return (size+block-1)/block*block + block
}

// scan calls f for every file of which something is known. size is below zero when there is only an
// info file.
func scan(root string, f func(hash string, size int64, r record)) error {
	folders, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(root, folder.Name()))
		if !folder.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, e := range entries {
			hash := strings.TrimSuffix(e.Name(), infoEnding)
			if !validHash(hash) || hash[:2] != folder.Name() || seen[hash] {
				continue
			}
			seen[hash] = true
			size := int64(-1)
			if info, err := os.Stat(filepath.Join(root, folder.Name(), hash)); err == nil {
				size = info.Size()
			}
			r, err := readRecord(root, hash)
			if err != nil {
				return err
			}
			f(hash, size, r)
		}
	}
	return nil
}

// lockFolder keeps other processes from changing files until unlock is called.
func lockFolder(root string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", f.Name(), err), f.Close())
	}
	return f.Close, nil
}

func (s *Store) member(account string) *member {
	m := s.members[account]
	if m == nil {
		m = &member{}
		s.members[account] = m
	}
	return m
}

// Run removes what is too old, at once and then every so often until ctx ends. report is told of
// errors; the next round tries again.
func (s *Store) Run(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.Sweep(); err != nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep removes what is too old, and forgets what others have removed and what accounts did longer
// than a day ago.
func (s *Store) Sweep() error {
	now := s.o.Now()
	s.mu.Lock()
	for account, m := range s.members {
		if m.trim(now); m.coming == 0 && len(m.uses) == 0 {
			delete(s.members, account)
		}
	}
	var old, all []string
	for hash, f := range s.files {
		all = append(all, hash)
		if s.o.Keep > 0 && now.Sub(f.last()) > s.o.Keep {
			old = append(old, hash)
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, hash := range old {
		errs = append(errs, s.expire(hash, now))
	}
	for _, hash := range all {
		s.missing(hash)
	}
	return errors.Join(errs...)
}

// expire removes a file, unless it was uploaded again meanwhile.
func (s *Store) expire(hash string, now time.Time) error {
	unlock, err := lockFolder(s.root)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	f := s.files[hash]
	still := f != nil && now.Sub(f.last()) > s.o.Keep
	s.mu.Unlock()
	if !still {
		return nil
	}
	folder, path := place(s.root, hash)
	for _, name := range []string{path, path + infoEnding} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.SyncDir(folder)
}

// missing forgets a file if it is not there any more.
func (s *Store) missing(hash string) {
	_, path := place(s.root, hash)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[hash]; f != nil {
		s.total -= cost(f.size)
		delete(s.files, hash)
	}
}

// trim forgets what was longer than a day ago.
func (m *member) trim(now time.Time) {
	for len(m.uses) > 0 && now.Sub(m.uses[0].at) >= day {
		m.uses = m.uses[1:]
	}
}
