package account

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

var (
	// ErrExists means that somebody has, or had, this name.
	ErrExists = errors.New("account: the name is taken")
	// ErrUnknown means that there is no such account, ban or invite.
	ErrUnknown = errors.New("account: there is no such")
	// ErrClosed means that only the administrator makes accounts.
	ErrClosed = errors.New("account: registration is off: ask the administrator for an account")
)

// files are the contents of the files while they are changed, read under the lock.
type files struct {
	book    *book
	bans    *banBook
	invites *inviteBook
	dirty   map[string]*table // by name of the file
}

// change runs f on what the files say now and writes what it made dirty, one process at a time. It
// is slow: it waits for other processes and for the disk.
func (s *Store) change(f func(*files) error) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	held, err := lock(s.path("accounts.lock"))
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	defer held.Close()
	s.o.reached(stepLocked)
	now, err := s.readAll()
	if err != nil {
		return fmt.Errorf("account: nothing was changed: %w", err)
	}
	if err := f(now); err != nil {
		return err
	}
	// an account before its invite goes
	for _, name := range []string{"accounts", "bans", "invites"} {
		if t := now.dirty[name]; t != nil {
			if err := s.o.replace(s.path(name), t.bytes()); err != nil {
				return fmt.Errorf("account: %s can't be written: %w", s.path(name), err)
			}
		}
	}
	s.Generation() // sees the new files
	return nil
}

func (s *Store) readAll() (*files, error) {
	var data [3][]byte
	for i, name := range []string{"accounts", "bans", "invites"} {
		var err error
		if data[i], err = os.ReadFile(s.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return &files{
		book: parseBook(s.path("accounts"), data[0]), bans: parseBans(s.path("bans"), data[1]),
		invites: parseInvites(data[2]), dirty: map[string]*table{},
	}, nil
}

// account changes the line of one account.
func (s *Store) account(name string, f func(*Account) error) error {
	return s.change(func(now *files) error {
		a := now.book.find(name)
		if a == nil {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		now.dirty["accounts"] = now.book.table
		return f(a)
	})
}

// Register makes an account for a person who asks for one, as Options.Registration has it. invite
// is the code, "" for none. It is slow: a PBKDF2 and the disk. Errors are ErrClosed, ErrInvite,
// ErrName, ErrPassword and ErrExists (in this order, so that names can't be asked for without a
// code), or the disk's.
func (s *Store) Register(name, password, invite string) (*Account, error) {
	policy := *s.registration.Load()
	if policy == ByNobody {
		return nil, ErrClosed
	}
	hash := ""
	if policy == ByInvite {
		hash = hashCode(invite)
		if err := s.checkInvite(hash); err != nil {
			return nil, err
		}
	}
	return s.add(name, password, Member, hash, false)
}

// Add makes an account, whatever the policy. reuse lets it have the name of an account that was
// removed, and with it that account's direct messages. It is slow.
func (s *Store) Add(name, password string, role Role, reuse bool) (*Account, error) {
	if role.rank() < 0 {
		return nil, ErrRole
	}
	return s.add(name, password, role, "", reuse)
}

func (s *Store) add(name, password string, role Role, invite string, reuse bool) (*Account, error) {
	if err := errors.Join(CheckName(name), CheckPassword(password)); err != nil {
		return nil, err
	}
	if b := s.nowAccounts(); b.names[irc.Fold(name)] != nil && !reuse {
		return nil, b.taken(name)
	}
	v, err := newVerifier(password, s.o.Iterations)
	if err != nil {
		return nil, err
	}
	err = s.change(func(now *files) error {
		if invite != "" {
			if err := now.spend(invite, s.o.Now()); err != nil {
				return err
			}
		}
		return now.addAccount(name, v, role, invite, reuse, s.o.Now())
	})
	if err != nil {
		return nil, err
	}
	if a := s.Lookup(name); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("%w account: %q was removed at once", ErrUnknown, name)
}

func (b *book) taken(name string) error {
	if b.find(name) == nil {
		return fmt.Errorf("%w: %s was the name of an account that was removed", ErrExists, name)
	}
	return fmt.Errorf("%w: %s", ErrExists, name)
}

func (now *files) addAccount(name string, v verifier, role Role, invite string, reuse bool, at time.Time) error {
	if old := now.book.names[irc.Fold(name)]; old != nil {
		if !old.Removed || !reuse {
			return now.book.taken(name)
		}
		now.book.table.keep(func(r *record) bool { return r != old.record })
	}
	if now.book.damaged(name) {
		return fmt.Errorf("%w: the line of %s in the file of accounts is damaged: mend it or take it out", ErrExists, name)
	}
	r := now.book.table.add(name, v.String())
	r.set("role", string(role))
	r.set("created", formatTime(at))
	r.set("invite", invite)
	now.dirty["accounts"] = now.book.table
	return nil
}

// damaged says whether the line for name can't be read.
func (b *book) damaged(name string) bool {
	return b.lines[irc.Fold(name)] > 0 && b.names[irc.Fold(name)] == nil
}

// SetPassword gives an account another password. It is slow. Sessions that are logged in stay.
func (s *Store) SetPassword(name, password string) error {
	if s.Lookup(name) == nil {
		return fmt.Errorf("%w account: %q", ErrUnknown, name)
	}
	v, err := newVerifier(password, s.o.Iterations)
	if err != nil {
		return err
	}
	return s.account(name, func(a *Account) error {
		a.record.setWord(1, v.String())
		return nil
	})
}

// SetRole gives an account another role.
func (s *Store) SetRole(name string, role Role) error {
	if role.rank() < 0 {
		return ErrRole
	}
	return s.account(name, func(a *Account) error {
		a.record.set("role", string(role))
		return nil
	})
}

// AddCert lets who holds the certificate log in as the account. A certificate opens one account.
func (s *Store) AddCert(name, fingerprint string) error {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return err
	}
	return s.change(func(now *files) error {
		a := now.book.find(name)
		if a == nil {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		if other := now.book.certs[cert]; other != nil && other != a {
			return fmt.Errorf("%w: this certificate opens the account %s: take it from there first", ErrExists, other.Name)
		}
		if !slices.Contains(a.Certs, cert) {
			a.record.set("certfp", strings.TrimPrefix(a.record.get("certfp")+","+cert, ","))
			now.dirty["accounts"] = now.book.table
		}
		return nil
	})
}

// RemoveCert ends what AddCert began.
func (s *Store) RemoveCert(name, fingerprint string) error {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return err
	}
	return s.account(name, func(a *Account) error {
		if !slices.Contains(a.Certs, cert) {
			return fmt.Errorf("%w certificate of %s", ErrUnknown, a.Name)
		}
		rest := slices.DeleteFunc(strings.Split(a.record.get("certfp"), ","), func(text string) bool {
			c, err := cleanFingerprint(text)
			return err == nil && c == cert
		})
		a.record.set("certfp", strings.Join(rest, ","))
		return nil
	})
}

// Remove ends an account and forgets its marks and what it said of itself. Its name stays taken,
// because direct messages are found by the names of those who wrote them; free lets anybody
// register it again. Sessions notice by Generation.
func (s *Store) Remove(name string, free bool) error {
	// What shows that its invite was used may go with the line: first the invite, as a change of
	// its own.
	err := s.change(func(now *files) error { now.dropSpent(); return nil })
	if err != nil {
		return err
	}
	err = s.change(func(now *files) error {
		a := now.book.names[irc.Fold(name)]
		if a == nil || a.Removed && !free {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		now.dirty["accounts"] = now.book.table
		if free {
			now.book.table.keep(func(r *record) bool { return r != a.record })
			return nil
		}
		a.record.setWord(1, noVerifier)
		a.record.set("certfp", "")
		a.record.set("role", "")
		a.record.set("removed", formatTime(s.o.Now()))
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(s.marks.forget(name), s.forgetMetadata(name))
}
