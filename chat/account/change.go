package account

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
	"weir/internal/disk"
)

var (
	// ErrExists is wrapped by the error for a name or a certificate that is taken. A name is taken
	// by an account, by a removed account and by a damaged line.
	ErrExists = errors.New("account: the name is taken")
	// ErrUnknown is wrapped by the error for an account, ban or invite that does not exist.
	ErrUnknown = errors.New("account: there is no such")
	// ErrClosed is the error of Register when only administrators create accounts.
	ErrClosed = errors.New("account: registration is closed: ask an administrator for an account")
)

// fileContents holds the parsed files of accounts, bans and invites. For a change they are read
// under the lock file.
type fileContents struct {
	accounts *accountIndex
	bans     *banIndex
	invites  *inviteIndex
	dirty    map[string]*table // tables to be written, by file name
}

// changeFiles reads the files, calls f, and writes the tables that f marked as dirty. If f fails,
// nothing is written. One process at a time does this. It is slow: it waits for other processes and
// for the disk.
func (s *Store) changeFiles(f func(*fileContents) error) error {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	held, err := s.opts.lock(s.path("accounts.lock"))
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	defer held.Close()
	s.opts.reached(stepLocked)
	files, err := s.readAll()
	if err != nil {
		return fmt.Errorf("account: nothing was changed: %w", err)
	}
	if err := f(files); err != nil {
		return err
	}
	err = s.writeFiles(files)
	s.Generation() // makes this Store read the new files
	return err
}

// writeFiles writes the tables that are dirty. Accounts are written before invites: after a crash
// between the two, the hash in the account shows that the invite is used (see dropUsed). So an
// account that is stored is acknowledged, although its invite cannot be removed.
func (s *Store) writeFiles(files *fileContents) error {
	for _, name := range []string{"accounts", "bans", "invites"} {
		t := files.dirty[name]
		if t == nil {
			continue
		}
		err := s.opts.replace(s.path(name), t.bytes())
		if err != nil {
			err = fmt.Errorf("account: write %s: %w", s.path(name), err)
		}
		if name == "invites" && files.dirty["accounts"] != nil && err != nil {
			s.opts.Report(err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readAll() (*fileContents, error) {
	var data [3][]byte
	for i, name := range []string{"accounts", "bans", "invites"} {
		var err error
		if data[i], err = disk.ReadFile(s.opts.Disk, s.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return &fileContents{
		accounts: parseAccounts(s.path("accounts"), data[0]), bans: parseBans(s.path("bans"), data[1]),
		invites: parseInvites(data[2]), dirty: map[string]*table{},
	}, nil
}

// changeAccount calls f with one account under changeFiles, and writes the file of accounts unless
// f fails.
func (s *Store) changeAccount(name string, f func(*Account) error) error {
	return s.changeFiles(func(files *fileContents) error {
		a := files.accounts.find(name)
		if a == nil {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		files.dirty["accounts"] = files.accounts.table
		return f(a)
	})
}

// Register creates an account for a user that asks for one, as the registration policy allows.
// invite is the code, "" for none. It is slow: PBKDF2 and an fsync. The errors are ErrClosed,
// ErrInvite, ErrName, ErrPassword and ErrExists, checked in this order, or an error of the disk.
// The code is checked before the name, so that names cannot be probed without a code.
func (s *Store) Register(name, password, invite string) (*Account, error) {
	policy := *s.registration.Load()
	if policy == RegistrationOff {
		return nil, ErrClosed
	}
	hash := ""
	if policy == RegistrationByInvite {
		hash = hashCode(invite)
		if err := s.checkInvite(hash); err != nil {
			return nil, err
		}
	}
	return s.add(name, password, Member, hash, false)
}

// Add creates an account whatever the policy. reuse permits the name of a removed account; the new
// account then also has its direct messages. It is slow.
func (s *Store) Add(name, password string, role Role, reuse bool) (*Account, error) {
	if role.rank() < 0 {
		return nil, ErrRole
	}
	return s.add(name, password, role, "", reuse)
}

// add creates an account. inviteHash is the hash of the invite code that it uses up, "" for none.
func (s *Store) add(name, password string, role Role, inviteHash string, reuse bool) (*Account, error) {
	if err := errors.Join(CheckName(name), CheckPassword(password)); err != nil {
		return nil, err
	}
	// names also has the removed accounts
	if b := s.currentAccounts(); b.names[irc.Fold(name)] != nil && !reuse {
		return nil, b.taken(name)
	}
	v, err := newVerifier(password, s.opts.Iterations)
	if err != nil {
		return nil, err
	}
	err = s.changeFiles(func(files *fileContents) error {
		if inviteHash != "" {
			if err := files.useInvite(inviteHash, s.opts.Now()); err != nil {
				return err
			}
		}
		return files.addAccount(name, v, role, inviteHash, reuse, s.opts.Now())
	})
	if err != nil {
		return nil, err
	}
	if a := s.Lookup(name); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("%w account: %q was removed right after it was created", ErrUnknown, name)
}

// taken returns the error for a name that an account has or had.
func (b *accountIndex) taken(name string) error {
	if b.find(name) == nil {
		return fmt.Errorf("%w: %s was the name of an account that was removed", ErrExists, name)
	}
	return fmt.Errorf("%w: %s", ErrExists, name)
}

// addAccount adds the line of an account. inviteHash is stored in it; "" for none. reuse permits
// the name of a removed account, whose line is then dropped.
func (files *fileContents) addAccount(name string, v verifier, role Role, inviteHash string, reuse bool, at time.Time) error {
	if old := files.accounts.names[irc.Fold(name)]; old != nil {
		if !old.Removed || !reuse {
			return files.accounts.taken(name)
		}
		files.accounts.table.keep(func(r *record) bool { return r != old.record })
	}
	if files.accounts.damaged(name) {
		return fmt.Errorf("%w: the line of %s in the file of accounts is damaged: correct or remove it", ErrExists, name)
	}
	r := files.accounts.table.add(name, v.String())
	r.set("role", string(role))
	r.set("created", formatTime(at))
	r.set("invite", inviteHash)
	files.dirty["accounts"] = files.accounts.table
	return nil
}

// damaged reports whether the name's line cannot be read.
func (b *accountIndex) damaged(name string) bool {
	_, hasLine := b.lines[irc.Fold(name)]
	return hasLine && b.names[irc.Fold(name)] == nil
}

// SetPassword replaces the password of an account. It is slow. Sessions that are logged in stay.
// The errors are ErrUnknown, then ErrPassword for a password that CheckPassword rejects, or an
// error of the disk.
func (s *Store) SetPassword(name, password string) error {
	if s.Lookup(name) == nil {
		return fmt.Errorf("%w account: %q", ErrUnknown, name)
	}
	v, err := newVerifier(password, s.opts.Iterations)
	if err != nil {
		return err
	}
	return s.changeAccount(name, func(a *Account) error {
		a.record.setWord(verifierWord, v.String())
		return nil
	})
}

// SetRole changes the role of an account.
func (s *Store) SetRole(name string, role Role) error {
	if role.rank() < 0 {
		return ErrRole
	}
	return s.changeAccount(name, func(a *Account) error {
		a.record.set("role", string(role))
		return nil
	})
}

// AddCert lets the holder of a certificate log in to the account. A certificate belongs to one
// account at most.
func (s *Store) AddCert(name, fingerprint string) error {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return err
	}
	return s.changeFiles(func(files *fileContents) error {
		a := files.accounts.find(name)
		if a == nil {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		if other := files.accounts.certs[cert]; other != nil && other != a {
			return fmt.Errorf("%w: the certificate belongs to the account %s: remove it there first", ErrExists, other.Name)
		}
		if !slices.Contains(a.Certs, cert) {
			a.record.set("certfp", strings.TrimPrefix(a.record.get("certfp")+","+cert, ","))
			files.dirty["accounts"] = files.accounts.table
		}
		return nil
	})
}

// RemoveCert removes a certificate from an account.
func (s *Store) RemoveCert(name, fingerprint string) error {
	cert, err := cleanFingerprint(fingerprint)
	if err != nil {
		return err
	}
	return s.changeAccount(name, func(a *Account) error {
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

// Remove deletes an account with its read markers and metadata. Its name stays reserved, because
// direct messages are stored under the names of both accounts. With free set, the name can be
// registered again. A running server notices the removal because Generation grows.
func (s *Store) Remove(name string, free bool) error {
	// Only the hash in the account's line may show that its invite was used: a crash can have left
	// the invite in its file. So all used invites are dropped first, in a change of its own, which
	// is on disk before the line is removed.
	err := s.changeFiles(func(files *fileContents) error { files.dropUsed(); return nil })
	if err != nil {
		return err
	}
	err = s.changeFiles(func(files *fileContents) error {
		a := files.accounts.names[irc.Fold(name)]
		if a == nil || a.Removed && !free {
			return fmt.Errorf("%w account: %q", ErrUnknown, name)
		}
		files.dirty["accounts"] = files.accounts.table
		if free {
			files.accounts.table.keep(func(r *record) bool { return r != a.record })
			return nil
		}
		a.record.setWord(verifierWord, noVerifier)
		a.record.set("certfp", "")
		a.record.set("role", "")
		a.record.set("removed", formatTime(s.opts.Now()))
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(s.marks.remove(name), s.forgetMetadata(name)); err != nil {
		return fmt.Errorf("account: %s is removed, but perhaps not its read markers and metadata: %w", name, err)
	}
	return nil
}
