package upload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

const (
	maxConcurrent           = 64 // uploads in progress, all accounts
	maxConcurrentPerAccount = 4  // uploads in progress of one account
)

// Upload is a file that is being received. One goroutine uses it and ends it with Commit or Abort.
type Upload struct {
	store   *Store
	account string
	file    *os.File
	sum     hash.Hash
	size    int64
	charged int64 // bytes counted against the account's quota and the total
}

// Begin starts an upload of an account. length is the number of bytes that will follow, negative if
// unknown.
func (s *Store) Begin(account string, length int64) (*Upload, error) {
	if err := s.admit(account, length); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.root, ".new-*") // mode 0600
	if err != nil {
		s.release(account)
		return nil, diskFullError(err)
	}
	// The lock marks the file as in use: a starting server removes unlocked partial uploads.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		s.release(account)
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &Upload{store: s, account: account, file: f, sum: sha256.New()}, nil
}

// admit checks the limits and registers an upload.
func (s *Store) admit(account string, length int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.usageLocked(account), s.options.Now()
	m.dropOldUses(now)
	switch {
	case length > s.options.MaxBytes:
		return s.tooLarge()
	case s.inProgress >= maxConcurrent || m.inProgress >= maxConcurrentPerAccount:
		return fmt.Errorf("%w: wait until one has ended", ErrBusy)
	case len(m.recent) >= s.options.DayFiles:
		return fmt.Errorf("%w: %d files", ErrQuota, s.options.DayFiles)
	}
	if err := s.checkQuotaLocked(m, max(length, 0)); err != nil {
		return err
	}
	s.inProgress++
	m.inProgress++
	m.recent = append(m.recent, quotaUse{at: now})
	return nil
}

func (s *Store) tooLarge() error {
	return fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, s.options.MaxBytes)
}

// checkQuotaLocked returns an error if n more bytes of an account exceed a limit. The caller holds
// mu.
func (s *Store) checkQuotaLocked(m *accountUsage, n int64) error {
	var used int64
	for _, u := range m.recent {
		used += u.bytes
	}
	switch {
	case used+n > s.options.DayBytes:
		return fmt.Errorf("%w: %d bytes", ErrQuota, s.options.DayBytes)
	case s.totalBytes+diskUsage(n) > s.options.MaxTotal:
		return ErrFull
	}
	return nil
}

// release undoes admit.
func (s *Store) release(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inProgress--
	s.usageLocked(account).inProgress--
}

// charge counts bytes before they are written, so that concurrent uploads together stay within the
// limits.
func (s *Store) charge(account string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.usageLocked(account), s.options.Now()
	if err := s.checkQuotaLocked(m, n); err != nil {
		return err
	}
	if len(m.recent) == 0 {
		m.recent = append(m.recent, quotaUse{})
	}
	last := &m.recent[len(m.recent)-1] // possibly another upload's entry: only the sum counts
	last.at, last.bytes = now, last.bytes+n
	s.totalBytes += n
	return nil
}

// Write implements io.Writer. After an error the upload can only be aborted.
func (u *Upload) Write(p []byte) (int, error) {
	u.store.mu.Lock()
	most := u.store.options.MaxBytes
	u.store.mu.Unlock()
	if u.size+int64(len(p)) > most {
		return 0, u.store.tooLarge()
	}
	if err := u.store.charge(u.account, int64(len(p))); err != nil {
		return 0, err
	}
	u.charged += int64(len(p))
	n, err := u.file.Write(p)
	u.sum.Write(p[:n])
	u.size += int64(n)
	return n, diskFullError(err)
}

// diskFullError returns err, wrapped as ErrFull if the disk is full.
func diskFullError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: the disk is full", ErrFull)
	}
	return err
}

// Abort discards the upload. It still counts against the account's quota.
func (u *Upload) Abort() error {
	err := errors.Join(u.file.Close(), os.Remove(u.file.Name()))
	u.finish(0)
	return err
}

// finish releases the upload and corrects the total: kept is the disk space that it added.
func (u *Upload) finish(kept int64) {
	u.store.release(u.account)
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	u.store.totalBytes += kept - u.charged
}

// Commit stores the upload under a name, which is cleaned. When Commit returns without an error,
// the file is durable; after an error, nothing is stored.
func (u *Upload) Commit(name string) (Shared, error) {
	shared := Shared{Hash: hex.EncodeToString(u.sum.Sum(nil)), Name: CleanName(name), Size: u.size}
	err := errors.Join(u.file.Sync(), u.file.Close())
	kept := int64(0)
	if err == nil {
		kept, err = u.store.store(u.file.Name(), shared, Sharing{u.store.options.Now().UTC().Truncate(time.Second), u.account, shared.Name})
	}
	if gone := os.Remove(u.file.Name()); err == nil && gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	u.finish(kept)
	return shared, diskFullError(err)
}

// Shared describes an uploaded file.
type Shared struct {
	Hash string `json:"hash"` // SHA-256, 64 hex digits
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// store moves the partial upload to its place, unless the content is already stored, and records
// the upload. kept is the disk space that it adds to the total.
func (s *Store) store(partial string, shared Shared, by Sharing) (kept int64, err error) {
	unlock, err := lockFolder(s.root)
	if err != nil {
		return 0, err
	}
	defer unlock()
	folder, path := contentPath(s.root, shared.Hash)
	r, err := readRecord(s.root, shared.Hash)
	if err != nil {
		return 0, err
	}
	if !r.removedAt.IsZero() {
		return 0, ErrRemoved
	}
	if err := durable.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	r.add(by)
	if err := writeRecord(s.root, shared.Hash, r); err != nil {
		return 0, err
	}
	s.dropMissing(shared.Hash)
	if _, err := os.Stat(path); err != nil {
		if err := os.Rename(partial, path); err != nil {
			return 0, err
		}
	}
	if err := durable.SyncDir(folder); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[shared.Hash] == nil {
		kept = diskUsage(shared.Size)
	}
	s.files[shared.Hash] = &file{shared.Size, r}
	return kept, nil
}
