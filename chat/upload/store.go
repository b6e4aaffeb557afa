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

// Errors of uploads. The errors that wrap them add details for the uploader.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrQuota    = errors.New("the account has reached its upload limit for 24 hours")
	ErrBusy     = errors.New("too many uploads are in progress")
	ErrFull     = errors.New("the storage for uploads is full")
	ErrRemoved  = errors.New("an administrator has removed this file")
	ErrNotFound = errors.New("there is no such file")
)

// Options are the limits of a store. A zero field means its default.
type Options struct {
	MaxBytes int64         // maximum size of a file; default 25 MiB
	DayBytes int64         // maximum bytes that an account uploads in 24 hours; default 250 MiB
	DayFiles int           // maximum uploads that an account starts in 24 hours; default 200
	MaxTotal int64         // maximum bytes of all files together; default 10 GiB
	MaxAge   time.Duration // files are removed this long after their last upload; 0 means never

	Now func() time.Time // the clock; default time.Now
}

func (o Options) withDefaults() Options {
	or := func(field *int64, otherwise int64) {
		if *field == 0 {
			*field = otherwise
		}
	}
	or(&o.MaxBytes, 25<<20)
	or(&o.DayBytes, 250<<20)
	or(&o.MaxTotal, 10<<30)
	if o.DayFiles == 0 {
		o.DayFiles = 200
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Store holds the files of one data directory. It is safe for concurrent use.
type Store struct {
	root string // DATA/uploads

	mu         sync.Mutex // guards the fields below
	options    Options
	files      map[string]*file
	totalBytes int64 // bytes on disk, including uploads in progress
	accounts   map[string]*accountUsage
	inProgress int // number of uploads in progress
}

// file is a stored file.
type file struct {
	size int64
	record
}

// accountUsage counts the uploads of one account in the last 24 hours.
type accountUsage struct {
	inProgress int // number of uploads in progress
	recent     []quotaUse
}

type quotaUse struct {
	at    time.Time
	bytes int64
}

const day = 24 * time.Hour

// Open opens the store of a data directory and creates it if it does not exist.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{root: filepath.Join(dir, "uploads"), options: o.withDefaults(), files: map[string]*file{}, accounts: map[string]*accountUsage{}}
	if err := durable.MkdirAll(s.root, 0o700); err != nil {
		return nil, err
	}
	if err := removePartialUploads(s.root); err != nil {
		return nil, err
	}
	var removed []string
	err := scanFiles(s.root, func(hash string, size int64, r record) {
		if size < 0 {
			return
		}
		// The server that removed the file crashed before it deleted the content, or the directory
		// was restored from a backup made at that moment.
		if !r.removedAt.IsZero() {
			_, path := contentPath(s.root, hash)
			removed = append(removed, path)
			return
		}
		s.files[hash] = &file{size, r}
		s.totalBytes += diskUsage(size)
		for _, sharing := range r.sharings {
			if s.options.Now().Sub(sharing.At) < day {
				m := s.usageLocked(sharing.Account)
				m.recent = append(m.recent, quotaUse{sharing.At, size})
			}
		}
	})
	for _, path := range removed {
		err = errors.Join(err, os.Remove(path))
	}
	for _, m := range s.accounts {
		slices.SortFunc(m.recent, func(a, b quotaUse) int { return a.at.Compare(b.at) })
	}
	return s, err
}

// removePartialUploads removes the uploads of a killed server. A partial upload that is locked
// belongs to another running server and stays.
func removePartialUploads(root string) error {
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
	return removeTemporaryRecords(root)
}

// removeTemporaryRecords removes the temporary files of a server that was killed while it wrote
// records.
func removeTemporaryRecords(root string) error {
	unlock, err := lockFolder(root)
	if err != nil {
		return err
	}
	defer unlock()
	folders, err := os.ReadDir(root)
	for _, folder := range folders {
		if folder.IsDir() {
			// names used by older versions
			err = errors.Join(err, durable.RemoveTemps(filepath.Join(root, folder.Name()), ".info-*"))
		}
	}
	return err
}

// Configure changes the limits for all further uploads.
func (s *Store) Configure(o Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Now = s.options.Now
	s.options = o.withDefaults()
}

// Usage returns the number of files and the bytes that count against Options.MaxTotal, including
// uploads in progress.
func (s *Store) Usage() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files), s.totalBytes
}

// diskUsage returns the disk space of a file with its info file, in whole blocks.
func diskUsage(size int64) int64 {
	const block = 4096
	return (size+block-1)/block*block + block
}

// scanFiles calls f for each file with content or an info file. size is negative if there is only
// an info file.
func scanFiles(root string, f func(hash string, size int64, r record)) error {
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
			hash := strings.TrimSuffix(e.Name(), infoSuffix)
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

// lockFolder prevents other processes from changing files until unlock is called.
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

func (s *Store) usageLocked(account string) *accountUsage {
	m := s.accounts[account]
	if m == nil {
		m = &accountUsage{}
		s.accounts[account] = m
	}
	return m
}

// Run removes expired files at once and then at the given interval until ctx ends. It calls report
// for each error and tries again at the next interval.
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

// Sweep removes expired files. It also drops files that another process removed and account usage
// older than 24 hours.
func (s *Store) Sweep() error {
	now := s.options.Now()
	s.mu.Lock()
	for account, m := range s.accounts {
		if m.dropOldUses(now); m.inProgress == 0 && len(m.recent) == 0 {
			delete(s.accounts, account)
		}
	}
	var old, all []string
	for hash, f := range s.files {
		all = append(all, hash)
		if s.options.MaxAge > 0 && now.Sub(f.lastUpload()) > s.options.MaxAge {
			old = append(old, hash)
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, hash := range old {
		errs = append(errs, s.expire(hash, now))
	}
	for _, hash := range all {
		s.dropMissing(hash)
	}
	return errors.Join(errs...)
}

// expire removes a file, unless it was uploaded again in the meantime.
func (s *Store) expire(hash string, now time.Time) error {
	unlock, err := lockFolder(s.root)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	f := s.files[hash]
	still := f != nil && now.Sub(f.lastUpload()) > s.options.MaxAge
	s.mu.Unlock()
	if !still {
		return nil
	}
	folder, path := contentPath(s.root, hash)
	for _, name := range []string{path, path + infoSuffix} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.SyncDir(folder)
}

// dropMissing drops a file from the store if it is no longer on the disk.
func (s *Store) dropMissing(hash string) {
	_, path := contentPath(s.root, hash)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[hash]; f != nil {
		s.totalBytes -= diskUsage(f.size)
		delete(s.files, hash)
	}
}

// dropOldUses drops uploads older than 24 hours.
func (m *accountUsage) dropOldUses(now time.Time) {
	for len(m.recent) > 0 && now.Sub(m.recent[0].at) >= day {
		m.recent = m.recent[1:]
	}
}
