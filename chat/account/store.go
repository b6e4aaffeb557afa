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
	"weir/internal/durable"
)

// Registration says who may make an account for himself.
type Registration string

// The policies of registration.
const (
	ByInvite  Registration = ""     // who has a code; the default
	ByAnybody Registration = "open" // everybody
	ByNobody  Registration = "off"  // only the administrator makes accounts
)

func (r Registration) check() error {
	if r != ByInvite && r != ByAnybody && r != ByNobody {
		return fmt.Errorf("account: Options.Registration is %q, want %q, %q or %q", r, ByInvite, ByAnybody, ByNobody)
	}
	return nil
}

// Options of a Store. The zero value is a good one. Never changed after Open.
type Options struct {
	Registration Registration
	// of PBKDF2 for new passwords, 4,096 to 1,000,000; 0: DefaultIterations
	Iterations int
	MarkEvery  time.Duration // read marks are written no more often; 0: a second
	// told of damaged lines and files that can't be read, from any goroutine; must not call the
	// Store; nil: nobody
	Report func(error)
	Now    func() time.Time // nil: time.Now

	step  func(durable.Step) // tests stop the process at a step of a change
	nonce func() string      // tests know the server's nonce
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
	if o.MarkEvery <= 0 {
		o.MarkEvery = time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Store is the accounts, bans, invites and marks of one data directory. All methods may be called
// from any goroutine, until Close.
//
// Locks are taken in this order: changing, the lock file, mu. mu is never held while a password is
// hashed or a file is synced.
type Store struct {
	dir    string
	o      Options
	secret []byte
	marks  *marks

	registration atomic.Pointer[Registration] // never nil

	changing sync.Mutex // one change at a time in this process

	mu         sync.Mutex // guards what follows
	accounts   watched
	bans       watched
	book       *book
	banned     *banBook
	generation uint64
}

// Open opens the accounts of a data directory, which must be there; files that are not there are
// empty. Damaged lines are no error: Problems and Options.Report tell of them.
func Open(dir string, o Options) (*Store, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, o: o, book: &book{}, banned: &banBook{}}
	s.accounts.path, s.bans.path = s.path("accounts"), s.path("bans")
	s.registration.Store(&o.Registration)
	s.marks = newMarks(s)
	if s.secret, err = s.readSecret(); err == nil {
		err = s.marks.tidy()
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

// SetRegistration has another policy hold from now on.
func (s *Store) SetRegistration(r Registration) error {
	if err := r.check(); err != nil {
		return err
	}
	s.registration.Store(&r)
	return nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Close writes the marks that are not yet written. The Store is not used after it.
func (s *Store) Close() error {
	err := s.marks.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts.close()
	s.bans.close()
	return err
}

const secretBytes = 32

// readSecret is what the salts of unknown names are made from; it stays the same for a data
// directory, or a restart would tell which names are known.
func (s *Store) readSecret() ([]byte, error) {
	held, err := lock(s.path("accounts.lock"))
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if err := durable.RemoveTempOf(s.path("accounts"), s.path("bans"), s.path("invites"), s.path("secret")); err != nil {
		return nil, err
	}
	path := s.path("secret")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret := make([]byte, secretBytes)
		rand.Read(secret)
		return secret, s.o.replace(path, []byte(hex.EncodeToString(secret)+"\n"))
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("%s is damaged, want %d hex digits: remove it, and a new one is made", path, 2*secretBytes)
	}
	return secret, nil
}

// refreshLocked reads a file again if somebody changed it. While it can't be read what is known
// goes on to hold, and that is told once.
func (s *Store) refreshLocked(w *watched, read func() error) {
	if !w.changed() {
		return
	}
	err := read()
	if err != nil && err.Error() != w.complaint {
		w.complaint = err.Error()
		s.o.Report(fmt.Errorf("account: what was known before goes on to hold: %w", err))
	}
	if err == nil {
		w.complaint = ""
	}
}

func (s *Store) readAccounts() error {
	data, err := s.accounts.read()
	if err != nil {
		return err
	}
	s.book = parseBook(s.accounts.path, data)
	s.generation++
	if info := s.accounts.info; info != nil && info.Mode().Perm()&0o007 != 0 {
		s.o.Report(fmt.Errorf("%s can be read by everybody on this machine, who can then try passwords on it: chmod 600 it", s.accounts.path))
	}
	for _, problem := range s.book.problems {
		s.o.Report(problem)
	}
	return nil
}

func (s *Store) readBans() error {
	data, err := s.bans.read()
	if err != nil {
		return err
	}
	s.banned = parseBans(s.bans.path, data)
	s.generation++
	for _, problem := range s.banned.problems {
		s.o.Report(problem)
	}
	return nil
}

// nowAccounts is what the file of accounts says.
func (s *Store) nowAccounts() *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.accounts, s.readAccounts)
	return s.book
}

// nowBans is what the file of bans says.
func (s *Store) nowBans() *banBook {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.bans, s.readBans)
	return s.banned
}

// Generation is a number that grows when an account or a ban was changed, by whatever process. It
// costs two stats: a server asks once a second, and when it grew asks Lookup and Banned for
// everybody who is there.
func (s *Store) Generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshLocked(&s.accounts, s.readAccounts)
	s.refreshLocked(&s.bans, s.readBans)
	return s.generation
}

// Problems are the damaged lines, one error each, with file and line.
func (s *Store) Problems() []error {
	return slices.Concat(s.nowAccounts().problems, s.nowBans().problems)
}

// Lookup is the account of this name in any spelling, nil if there is none.
func (s *Store) Lookup(name string) *Account {
	return s.nowAccounts().find(name)
}

// Accounts are all accounts, by name.
func (s *Store) Accounts() []*Account {
	var all []*Account
	for _, a := range s.nowAccounts().names {
		if !a.Removed {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *Account) int { return strings.Compare(irc.Fold(a.Name), irc.Fold(b.Name)) })
	return all
}

// MetadataPath is the file that holds what an account says of itself. The server that runs writes
// it; Remove takes it away.
func (s *Store) MetadataPath(name string) string { return s.path("metadata/" + fileName(name)) }

func (s *Store) forgetMetadata(name string) error {
	if err := os.Remove(s.MetadataPath(name)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
