package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrInvite is the error of a code that is unknown, used or expired.
var ErrInvite = errors.New("account: the invite is unknown, used or too old: ask for another")

// Invite is a code that permits the registration of one account. It is identified by its hash.
type Invite struct {
	ID      string    `json:"id"` // first 12 digits of the hash
	By      string    `json:"by,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Until   time.Time `json:"until,omitzero"` // zero: does not expire

	hash string
}

// inviteIndex holds the parsed file of invites. A line is HASH KEY=VALUE...
type inviteIndex struct {
	table   *table
	invites []Invite
}

// parseInvites parses the file of invites. It ignores damaged lines, so their codes are invalid.
func parseInvites(data []byte) *inviteIndex {
	b := &inviteIndex{table: parseTable(data)}
	for _, r := range b.table.lines {
		if r.fields == nil || len(r.word(0)) != 2*sha256.Size {
			continue
		}
		i := Invite{ID: r.word(0)[:12], By: r.get("by"), hash: r.word(0)}
		var err1, err2 error
		i.Created, err1 = parseTime(r.get("created"))
		i.Until, err2 = parseTime(r.get("until"))
		if errors.Join(err1, err2) == nil {
			b.invites = append(b.invites, i)
		}
	}
	return b
}

// parseTime parses the output of formatTime. "" is the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, text)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// hashCode returns the SHA-256 of a code in upper case without separators. A code has 130 random
// bits, so a plain hash cannot be reversed by guessing.
func hashCode(code string) string {
	clean := strings.ToUpper(strings.Join(strings.FieldsFunc(code, func(r rune) bool { return r == '-' || r == ' ' }), ""))
	sum := sha256.Sum256([]byte(clean))
	return hex.EncodeToString(sum[:])
}

// NewInvite creates a code that permits one account until the given time (zero: for ever). Only the
// hash of the code is stored, so it cannot be shown again. by names the author.
func (s *Store) NewInvite(by string, until time.Time) (code string, invite Invite, err error) {
	text := rand.Text()
	code = strings.Join(slices.Collect(chunks(text, 5)), "-")
	second := func(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
	invite = Invite{By: by, Created: second(s.opts.Now()), Until: second(until), hash: hashCode(code)}
	invite.ID = invite.hash[:12]
	return code, invite, s.changeFiles(func(files *fileContents) error {
		files.dropUsed()
		files.invites.dropOld(s.opts.Now())
		r := files.invites.table.add(invite.hash)
		r.set("created", formatTime(invite.Created))
		r.set("until", formatTime(until))
		r.set("by", by)
		files.dirty["invites"] = files.invites.table
		return nil
	})
}

func chunks(text string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > n && yield(text[:n]) {
			text = text[n:]
		}
		yield(text)
	}
}

// Invites returns the invites that are still valid, oldest first.
func (s *Store) Invites() ([]Invite, error) {
	files, err := s.readAll()
	if err != nil {
		return nil, err
	}
	files.dropUsed()
	files.invites.dropOld(s.opts.Now())
	return files.invites.invites, nil
}

// RevokeInvite removes the invite whose hash starts with id, which has at least 8 digits.
func (s *Store) RevokeInvite(id string) error {
	return s.changeFiles(func(files *fileContents) error {
		for _, i := range files.invites.invites {
			if len(id) >= 8 && strings.HasPrefix(i.hash, strings.ToLower(id)) {
				files.dropInvite(i.hash)
				return nil
			}
		}
		return fmt.Errorf("%w invite: %q", ErrUnknown, id)
	})
}

// checkInvite checks a code, so that no password is hashed for an invalid one.
func (s *Store) checkInvite(hash string) error {
	files, err := s.readAll()
	if err != nil {
		return err
	}
	return files.useInvite(hash, s.opts.Now())
}

// useInvite removes an invite that is being used. The account carries the hash of its invite and is
// written first. So a crash between the two files leaves an invite that dropUsed recognizes as
// used.
func (files *fileContents) useInvite(hash string, at time.Time) error {
	files.dropUsed()
	for _, i := range files.invites.invites {
		if i.hash == hash && (i.Until.IsZero() || at.Before(i.Until)) {
			files.dropInvite(hash)
			return nil
		}
	}
	return ErrInvite
}

// dropUsed removes the invites that accounts have used.
func (files *fileContents) dropUsed() {
	for _, a := range files.accounts.names {
		if a.invite != "" {
			files.dropInvite(a.invite)
		}
	}
}

func (files *fileContents) dropInvite(hash string) {
	if files.invites.drop(func(i Invite) bool { return i.hash == hash }) {
		files.dirty["invites"] = files.invites.table
	}
}

func (b *inviteIndex) dropOld(at time.Time) {
	b.drop(func(i Invite) bool { return !i.Until.IsZero() && !at.Before(i.Until) })
}

// drop removes the invites for which f is true and reports whether there was one.
func (b *inviteIndex) drop(f func(Invite) bool) bool {
	gone := map[string]bool{}
	b.invites = slices.DeleteFunc(b.invites, func(i Invite) bool {
		if f(i) {
			gone[i.hash] = true
		}
		return gone[i.hash]
	})
	b.table.keep(func(r *record) bool { return !gone[r.word(0)] })
	return len(gone) > 0
}
