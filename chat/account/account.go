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

// Role is what an account may do beyond what its rooms let it.
type Role string

// The roles, each with all that the one before it may.
const (
	Member   Role = "member"   // nothing more; what an account without a role= is
	Operator Role = "operator" // ban, kick and redact anywhere
	Admin    Role = "admin"    // change accounts, make invites
)

// ErrRole means that there is no such role.
var ErrRole = errors.New("account: no such role: want member, operator or admin")

func (r Role) rank() int { return slices.Index([]Role{Member, Operator, Admin}, r) }

// AtLeast says whether r may do what other may.
func (r Role) AtLeast(other Role) bool { return r.rank() >= other.rank() }

// Account is one account as the file had it when it was asked for; it never changes.
type Account struct {
	Name string `json:"name"` // in its own spelling
	Role Role   `json:"role"`
	// fingerprints of client certificates, see Fingerprint
	Certs   []string  `json:"certs,omitempty"`
	Created time.Time `json:"created,omitzero"`

	Removed bool `json:"-"` // nobody's now: the name is kept from being registered again

	verifier *verifier // nil: no password opens it
	invite   string    // hash of the code it was registered with
	record   *record
}

// Password says whether the account has one.
func (a *Account) Password() bool { return a.verifier != nil }

// Fingerprint is how a client's certificate is told: SHA-256 of its DER form in 64 lower-case hex
// digits.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// ErrFingerprint means that a text is no SHA-256 fingerprint.
var ErrFingerprint = errors.New("account: a certificate's fingerprint is its SHA-256 sum, 64 hex digits, with colons or without")

func cleanFingerprint(text string) (string, error) {
	clean := strings.ToLower(strings.ReplaceAll(text, ":", ""))
	if b, err := hex.DecodeString(clean); err != nil || len(b) != sha256.Size {
		return "", ErrFingerprint
	}
	return clean, nil
}

// parseAccount reads NAME VERIFIER KEY=VALUE... Without an account the one error says why the line
// can't be used; with one, the errors are of keys that are passed over.
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
	if text := r.word(1); text != noVerifier {
		v, err := parseVerifier(text)
		if err != nil {
			return nil, []error{err}
		}
		a.verifier = &v
	}
	return a, a.parseKeys()
}

// parseKeys passes over what it can't read: that gives an account less than was meant, never more.
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

// book is what a file of accounts says.
type book struct {
	table *table
	names map[string]*Account // by folded name
	certs map[string]*Account // by fingerprint
	// by folded name, the line that counts for it, whether it can be read or not
	lines    map[string]int
	problems []error // one for each damaged line and each key that was passed over
}

// parseBook gives every account whose line can be read. Of two lines that begin with the same name,
// and of two for a certificate, the first counts. path is for the problems.
func parseBook(path string, data []byte) *book {
	b := &book{table: parseTable(data), names: map[string]*Account{}, certs: map[string]*Account{}, lines: map[string]int{}}
	for _, r := range b.table.lines {
		if r.fields == nil && r.err == nil {
			continue
		}
		a, odd := parseAccount(r)
		name := irc.Fold(r.first())
		if first := b.lines[name]; first > 0 {
			a, odd = nil, []error{fmt.Errorf("line %d is for %q already", first, r.first())}
		} else {
			b.lines[name] = r.number
		}
		consequence := "this account can't be used until the line is mended or taken out"
		if a != nil {
			consequence = "this key of the account is passed over"
			b.add(a)
		}
		for _, err := range odd {
			b.problems = append(b.problems, fmt.Errorf("%s:%d: %w: %s", path, r.number, err, consequence))
		}
	}
	return b
}

func (b *book) add(a *Account) {
	b.names[irc.Fold(a.Name)] = a
	for _, cert := range a.Certs {
		if b.certs[cert] == nil {
			b.certs[cert] = a
		}
	}
}

// find is the account in use under name, nil if there is none.
func (b *book) find(name string) *Account {
	if a := b.names[irc.Fold(name)]; a != nil && !a.Removed {
		return a
	}
	return nil
}
