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
	maxComing     = 64 // uploads under way
	maxComingEach = 4  // of one account
)

// Upload is a file that is coming in. One goroutine uses it, and ends it by Commit or Abort.
type Upload struct {
	s       *Store
	account string
	f       *os.File
	sum     hash.Hash
	size    int64
	charged int64 // against the day and the total
}

// Begin begins an upload of an account. length is how many bytes will come, below zero if that is
// not known.
func (s *Store) Begin(account string, length int64) (*Upload, error) {
	if err := s.enter(account, length); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.root, ".new-*") // mode 0600
	if err != nil {
		s.leave(account)
		return nil, full(err)
	}
	// or a server that starts takes it for one that was left
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		s.leave(account)
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &Upload{s: s, account: account, f: f, sum: sha256.New()}, nil
}

// enter lets an upload in.
func (s *Store) enter(account string, length int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.member(account), s.o.Now()
	m.trim(now)
	switch {
	case length > s.o.MaxBytes:
		return s.tooLarge()
	case s.coming >= maxComing || m.coming >= maxComingEach:
		return fmt.Errorf("%w: wait until one has ended", ErrBusy)
	case len(m.uses) >= s.o.DayFiles:
		return fmt.Errorf("%w: %d files", ErrQuota, s.o.DayFiles)
	}
	if err := s.mayTake(m, max(length, 0)); err != nil {
		return err
	}
	s.coming++
	m.coming++
	m.uses = append(m.uses, use{at: now})
	return nil
}

func (s *Store) tooLarge() error {
	return fmt.Errorf("%w: at most %d bytes are taken", ErrTooLarge, s.o.MaxBytes)
}

// mayTake says whether so many more bytes of an account can be taken. The caller holds the lock.
func (s *Store) mayTake(m *member, n int64) error {
	var used int64
	for _, u := range m.uses {
		used += u.bytes
	}
	switch {
	case used+n > s.o.DayBytes:
		return fmt.Errorf("%w: %d bytes", ErrQuota, s.o.DayBytes)
	case s.total+cost(n) > s.o.Total:
		return ErrFull
	}
	return nil
}

// leave is the end of what enter began.
func (s *Store) leave(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming--
	s.member(account).coming--
}

// charge counts bytes before they are written, so that several uploads together keep the limits
// too.
func (s *Store) charge(account string, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.member(account), s.o.Now()
	if err := s.mayTake(m, n); err != nil {
		return err
	}
	if len(m.uses) == 0 {
		m.uses = append(m.uses, use{})
	}
	last := &m.uses[len(m.uses)-1] // perhaps another upload's: only their sum counts
	last.at, last.bytes = now, last.bytes+n
	s.total += n
	return nil
}

// Write implements io.Writer. After an error the upload can only be aborted.
func (u *Upload) Write(p []byte) (int, error) {
	u.s.mu.Lock()
	most := u.s.o.MaxBytes
	u.s.mu.Unlock()
	if u.size+int64(len(p)) > most {
		return 0, u.s.tooLarge()
	}
	if err := u.s.charge(u.account, int64(len(p))); err != nil {
		return 0, err
	}
	u.charged += int64(len(p))
	n, err := u.f.Write(p)
	u.sum.Write(p[:n])
	u.size += int64(n)
	return n, full(err)
}

// full is an error as ErrFull, if the disk is.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: the disk is full", ErrFull)
	}
	return err
}

// Abort gives an upload up. It counts for the account's day.
func (u *Upload) Abort() error {
	err := errors.Join(u.f.Close(), os.Remove(u.f.Name()))
	u.end(0)
	return err
}

// end settles the accounts: kept is what stays of it.
func (u *Upload) end(kept int64) {
	u.s.leave(u.account)
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.s.total += kept - u.charged
}

// Commit keeps the upload under a name, which is cleaned. It is on the disk when Commit returns; if
// it returns an error, there is nothing of it.
func (u *Upload) Commit(name string) (Shared, error) {
	shared := Shared{Hash: hex.EncodeToString(u.sum.Sum(nil)), Name: CleanName(name), Size: u.size}
	err := errors.Join(u.f.Sync(), u.f.Close())
	kept := int64(0)
	if err == nil {
		kept, err = u.s.keep(u.f.Name(), shared, Sharing{u.s.o.Now().UTC().Truncate(time.Second), u.account, shared.Name})
	}
	if gone := os.Remove(u.f.Name()); err == nil && gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	u.end(kept)
	return shared, full(err)
}

// Shared is a file that was uploaded.
type Shared struct {
	Hash string `json:"hash"` // SHA-256, 64 hex digits
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// keep puts what was written aside in its place, if it is not there yet, and notes who shared it.
// kept is what it adds to the total.
func (s *Store) keep(aside string, shared Shared, by Sharing) (kept int64, err error) {
	unlock, err := lockFolder(s.root)
	if err != nil {
		return 0, err
	}
	defer unlock()
	folder, path := place(s.root, shared.Hash)
	r, err := readRecord(s.root, shared.Hash)
	if err != nil {
		return 0, err
	}
	if !r.removed.IsZero() {
		return 0, ErrRemoved
	}
	if err := durable.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	r.add(by)
	if err := writeRecord(s.root, shared.Hash, r); err != nil {
		return 0, err
	}
	s.missing(shared.Hash)
	if _, err := os.Stat(path); err != nil {
		if err := os.Rename(aside, path); err != nil {
			return 0, err
		}
	}
	if err := durable.SyncDir(folder); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[shared.Hash] == nil {
		kept = cost(shared.Size)
	}
	s.files[shared.Hash] = &file{shared.Size, r}
	return kept, nil
}
