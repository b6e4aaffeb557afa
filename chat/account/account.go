package account

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

// Role says what an account may do on the whole server, beyond the ranks that it has in rooms.
type Role string

// The roles in rising order. Each has all permissions of the one before it.
const (
	Member   Role = "member"   // ordinary user; the default
	Operator Role = "operator" // may ban, kick and redact anywhere
	Admin    Role = "admin"    // may change accounts and create invites
)

// ErrRole is the error of an unknown role.
var ErrRole = errors.New("account: no such role: want member, operator or admin")

func (r Role) rank() int { return slices.Index([]Role{Member, Operator, Admin}, r) }

// AtLeast reports whether r has all permissions of other.
func (r Role) AtLeast(other Role) bool { return r.rank() >= other.rank() }

// Account is one account as its file was when it was looked up. It is immutable.
type Account struct {
	Name string `json:"name"` // as registered; compared by irc.Fold
	Role Role   `json:"role"`
	// fingerprints of client certificates, see Fingerprint
	Certs   []string  `json:"certs,omitempty"`
	Created time.Time `json:"created,omitzero"`

	Removed bool `json:"-"` // the account no longer exists; its name stays reserved

	verifier *verifier // nil: there is no password login
	invite   string    // hash of the invite code used to register, "" if none
	record   *record
}

// HasPassword reports whether the account has a password.
func (a *Account) HasPassword() bool { return a.verifier != nil }

// Fingerprint returns the fingerprint of a client certificate: the SHA-256 of its DER form, in 64
// lower-case hex digits.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// ErrFingerprint is the error of a text that is not a SHA-256 fingerprint.
var ErrFingerprint = errors.New("account: a certificate's fingerprint is its SHA-256 sum, 64 hex digits, with colons or without")

func cleanFingerprint(text string) (string, error) {
	clean := strings.ToLower(strings.ReplaceAll(text, ":", ""))
	if b, err := hex.DecodeString(clean); err != nil || len(b) != sha256.Size {
		return "", ErrFingerprint
	}
	return clean, nil
}

// verifierWord is the index of the verifier in the line of an account.
const verifierWord = 1

// parseAccount reads a line NAME VERIFIER KEY=VALUE... If the line is invalid, the account is nil
// and the one error says why. Otherwise the errors are of keys that were ignored.
func parseAccount(r *record) (*Account, []error) {
	if r.err != nil {
		return nil, []error{r.err}
	}
	if len(r.fields) < 2 {
		return nil, []error{errors.New("want NAME VERIFIER and then KEY=VALUE pairs")}
	}
	a := &Account{Name: r.word(0), Role: Member, record: r, invite: r.get("invite"), Removed: r.get("removed") != ""}
	if err := CheckName(a.Name); err != nil {
		return nil, []error{err}
	}
	if text := r.word(verifierWord); text != noVerifier {
		v, err := parseVerifier(text)
		if err != nil {
			return nil, []error{err}
		}
		a.verifier = &v
	}
	return a, a.parseKeys()
}

// parseKeys reads the optional keys and ignores invalid ones. An ignored key only takes permissions
// away.
func (a *Account) parseKeys() (odd []error) {
	if role := Role(a.record.get("role")); role != "" {
		if role.rank() >= 0 {
			a.Role = role
		} else {
			odd = append(odd, fmt.Errorf("role=%s: %w", escape(string(role)), ErrRole))
		}
	}
	created, err := parseTime(a.record.get("created"))
	if a.Created = created; err != nil {
		odd = append(odd, errors.New("created= is not a time like 2026-11-21T11:30:00Z"))
	}
	if certs := a.record.get("certfp"); certs != "" {
		for text := range strings.SplitSeq(certs, ",") {
			if cert, err := cleanFingerprint(text); err == nil {
				a.Certs = append(a.Certs, cert)
			} else {
				odd = append(odd, fmt.Errorf("certfp=: %w", err))
			}
		}
	}
	return odd
}

// accountIndex holds the parsed file of accounts.
type accountIndex struct {
	table *table
	names map[string]*Account // by folded name
	certs map[string]*Account // by fingerprint
	// number of the line, from 1, by folded name; also of a line that cannot be read
	lines    map[string]int
	problems []error // one for each damaged line and each ignored key
}

// parseAccounts parses the file of accounts. Of two lines with the same name, and of two accounts
// with the same certificate, the first counts. path is used in problems.
func parseAccounts(path string, data []byte) *accountIndex {
	b := &accountIndex{table: parseTable(data), names: map[string]*Account{}, certs: map[string]*Account{}, lines: map[string]int{}}
	for _, r := range b.table.lines {
		if r.fields == nil && r.err == nil {
			continue
		}
		a, odd := parseAccount(r)
		name := irc.Fold(r.first())
		if first := b.lines[name]; first > 0 {
			a, odd = nil, []error{fmt.Errorf("line %d already has the account %q", first, r.first())}
		} else {
			b.lines[name] = r.number
		}
		consequence := "this account cannot be used until the line is corrected or removed"
		if a != nil {
			consequence = "this key of the account is ignored"
			b.add(a)
		}
		for _, err := range odd {
			b.problems = append(b.problems, fmt.Errorf("%s:%d: %w: %s", path, r.number, err, consequence))
		}
	}
	return b
}

func (b *accountIndex) add(a *Account) {
	b.names[irc.Fold(a.Name)] = a
	for _, cert := range a.Certs {
		if b.certs[cert] == nil {
			b.certs[cert] = a
		}
	}
}

// find returns the account of a name, nil if there is none or it was removed.
func (b *accountIndex) find(name string) *Account {
	if a := b.names[irc.Fold(name)]; a != nil && !a.Removed {
		return a
	}
	return nil
}
