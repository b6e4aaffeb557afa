package account

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/chat/irc"
	"weir/internal/disk"
	"weir/internal/durable"
)

// Registration is the policy of who may create an account by Register.
type Registration string

// The registration policies.
const (
	RegistrationByInvite Registration = ""     // users with an invite code; the default
	RegistrationOpen     Registration = "open" // every user
	RegistrationOff      Registration = "off"  // only administrators, by Add
)

func (r Registration) check() error {
	if r != RegistrationByInvite && r != RegistrationOpen && r != RegistrationOff {
		return fmt.Errorf("account: Options.Registration is %q, want %q, %q or %q", r, RegistrationByInvite, RegistrationOpen, RegistrationOff)
	}
	return nil
}

// Options configure a Store. The zero value is valid. Options are never changed after Open.
type Options struct {
	Registration Registration
	// PBKDF2 iterations for new passwords, 4,096 to 1,000,000; 0: DefaultIterations
	Iterations     int
	MarkerInterval time.Duration // minimum time between two writes of read markers; 0: a second
	// receives the errors of damaged lines and unreadable files, on any goroutine; must not call
	// the Store; nil: none
	Report func(error)
	Now    func() time.Time // nil: time.Now
	Disk   disk.FS          // nil: the operating system's

	step  func(durable.Step) // test hook: called at each step of a change
	nonce func() string      // test hook: replaces the random server nonce of SCRAM
}

func (o Options) validate() (Options, error) {
	if o.Iterations == 0 {
		o.Iterations = DefaultIterations
	}
	if o.Iterations < minIterations || o.Iterations > maxIterations {
		return o, fmt.Errorf("account: Options.Iterations is %d, want %d to %d", o.Iterations, minIterations, maxIterations)
	}
	if err := o.Registration.check(); err != nil {
		return o, err
	}
	if o.MarkerInterval <= 0 {
		o.MarkerInterval = time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Disk = disk.Or(o.Disk)
	return o, nil
}

// Store holds the accounts, bans, invites and read markers of one data directory. It is safe for
// concurrent use until Close.
//
// The lock order is: changeMu, the lock file, mu. mu is never held while a password is hashed or a
// file is synced.
type Store struct {
	dir    string
	opts   Options
	secret []byte
	marks  *markerStore

	registration atomic.Pointer[Registration] // never nil

	changeMu sync.Mutex // serializes changes of this process

	mu           sync.Mutex // guards the fields below
	accounts     watchedFile
	bans         watchedFile
	accountIndex *accountIndex
	banIndex     *banIndex
	generation   uint64
}

// Open opens the accounts of an existing data directory. A missing file is empty. Damaged lines are
// not an error: Problems and Options.Report return them.
func Open(dir string, o Options) (*Store, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, opts: o, accountIndex: &accountIndex{}, banIndex: &banIndex{}}
	s.accounts = watchedFile{disk: o.Disk, path: s.path("accounts")}
	s.bans = watchedFile{disk: o.Disk, path: s.path("bans")}
	s.registration.Store(&o.Registration)
	s.marks = newMarks(s)
	if s.secret, err = s.readSecret(); err == nil {
		err = s.marks.restore()
	}
	if err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	if err := errors.Join(s.readAccounts(), s.readBans()); err != nil {
		s.Close()
		return nil, fmt.Errorf("account: %w", err)
	}
	return s, nil
}

// SetRegistration changes the registration policy.
func (s *Store) SetRegistration(r Registration) error {
	if err := r.check(); err != nil {
		return err
	}
	s.registration.Store(&r)
	return nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Close writes the read markers that are not yet written. The Store must not be used after it.
func (s *Store) Close() error {
	err := s.marks.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts.close()
	s.bans.close()
	return err
}

const secretBytes = 32

// readSecret reads the key from which the salts of unknown names are derived, or creates it. It
// never changes for a data directory: otherwise a restart would reveal which names are known.
func (s *Store) readSecret() ([]byte, error) {
	held, err := s.opts.lock(s.path("accounts.lock"))
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if err := s.opts.files().RemoveTempOf(s.path("accounts"), s.path("bans"), s.path("invites"), s.path("secret")); err != nil {
		return nil, err
	}
	// a process may have been killed between the rename of a file and the sync of its name
	if err := s.opts.files().SyncDir(s.dir); err != nil {
		return nil, err
	}
	path := s.path("secret")
	text, err := disk.ReadFile(s.opts.Disk, path)
	if errors.Is(err, os.ErrNotExist) {
		secret := make([]byte, secretBytes)
		rand.Read(secret)
		return secret, s.opts.replace(path, []byte(hex.EncodeToString(secret)+"\n"))
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("%s is damaged, want %d hex digits: remove it, and the server creates a new one", path, 2*secretBytes)
	}
	return secret, nil
}

// refreshLocked reads a file again if it has changed. If it cannot be read, the former content
// stays in effect, and the error is reported once.
func (s *Store) refreshLocked(w *watchedFile, read func() error) {
	if !w.changed() {
		return
	}
	err := read()
	if err != nil && err.Error() != w.reportedError {
		w.reportedError = err.Error()
		s.opts.Report(fmt.Errorf("account: the former content stays in effect: %w", err))
	}
	if err == nil {
		w.reportedError = ""
	}
}

func (s *Store) readAccounts() error {
	data, err := s.accounts.read()
	if err != nil {
		return err
	}
	s.accountIndex = parseAccounts(s.accounts.path, data)
	s.generation++
	if info := s.accounts.info; info != nil && info.Mode().Perm()&0o007 != 0 {
		s.opts.Report(fmt.Errorf("%s is readable by all users of this machine, who can guess passwords from it: run chmod 600 on it", s.accounts.path))
	}
	for _, problem := range s.accountIndex.problems {
		s.opts.Report(problem)
	}
	return nil
}

func (s *Store) readBans() error {
	data, err := s.bans.read()
	if err != nil {
		return err
	}
	s.banIndex = parseBans(s.bans.path, data)
	s.generation++
	for _, problem := range s.banIndex.problems {
		s.opts.Report(problem)
	}
	return nil
}

// currentAccounts returns the current accounts.
func (s *Store) currentAccounts() *accountIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.accounts, s.readAccounts)
	return s.accountIndex
}

// currentBans returns the current bans.
func (s *Store) currentBans() *banIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.bans, s.readBans)
	return s.banIndex
}

// Generation returns a number that grows when any process changes an account or a ban. It costs two
// stats. A server calls it once a second, and when it has grown calls Lookup and Banned for every
// client.
func (s *Store) Generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.accounts, s.readAccounts)
	s.refreshLocked(&s.bans, s.readBans)
	return s.generation
}

// Problems returns an error for each damaged line, with file and line number.
func (s *Store) Problems() []error {
	return slices.Concat(s.currentAccounts().problems, s.currentBans().problems)
}

// Lookup returns the account of a name in any spelling, nil if there is none or it was removed.
func (s *Store) Lookup(name string) *Account {
	return s.currentAccounts().find(name)
}

// IsReserved reports whether a name, in any spelling, is that of an account, or was that of an
// account that was removed without freeing its name.
func (s *Store) IsReserved(name string) bool {
	return s.currentAccounts().names[irc.Fold(name)] != nil
}

// Accounts returns all accounts, by name.
func (s *Store) Accounts() []*Account {
	var all []*Account
	for _, a := range s.currentAccounts().names {
		if !a.Removed {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *Account) int { return strings.Compare(irc.Fold(a.Name), irc.Fold(b.Name)) })
	return all
}

// MetadataFile returns the path of an account's metadata file, relative to the data directory. The
// owner of the file is the chat; Remove deletes it.
func MetadataFile(name string) string { return "metadata/" + fileName(name) }

func (s *Store) forgetMetadata(name string) error {
	return s.opts.files().Remove(s.path(MetadataFile(name)))
}
