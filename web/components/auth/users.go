package auth

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// maxCost is the highest bcrypt cost that is taken: a check of cost 16 lasts some seconds.
const maxCost = 16

// users are the users of a file.
type users struct {
	hashes map[string][]byte // by name
	names  []string          // of all, sorted
	seed   maphash.Seed
}

// parseUsers reads lines NAME:HASH, as htpasswd -B writes them. Empty lines and those that begin
// with # say nothing.
func parseUsers(text []byte) (*users, error) {
	u := &users{hashes: map[string][]byte{}, seed: maphash.MakeSeed()}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		name, hash, err := parseUser(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if u.hashes[name] != nil {
			return nil, fmt.Errorf("line %d: this user has a line before already: take one out", number)
		}
		u.hashes[name] = hash
		u.names = append(u.names, name)
	}
	slices.Sort(u.names)
	return u, nil
}

func parseUser(line []byte) (name string, hash []byte, err error) {
	n, h, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(n) == 0 || strings.ContainsFunc(string(n), control) {
		return "", nil, errors.New("write NAME:HASH, as htpasswd -B does")
	}
	cost, err := bcrypt.Cost(h)
	if err != nil || len(h) != 60 {
		return "", nil, errors.New("the password is no bcrypt hash: make it by htpasswd -B")
	}
	if cost > maxCost {
		return "", nil, fmt.Errorf("a hash of cost %d takes too long to check: make one of at most %d", cost, maxCost)
	}
	return string(n), bytes.Clone(h), nil
}

// control recognises characters that names and passwords may not have (RFC 7617 section 2).
func control(r rune) bool { return r < ' ' || r == 0x7f }

// hash is what a user's password is held against. One that nobody has gets the hash of somebody
// else, the same each time: so that a check takes as long whether there is such a user or not, also
// when the costs of the hashes differ. It is nil when the file has no users.
func (u *users) hash(name string) (hash []byte, known bool) {
	if h := u.hashes[name]; h != nil {
		return h, true
	}
	if len(u.names) == 0 {
		return nil, false
	}
	other := u.names[maphash.String(u.seed, name)%uint64(len(u.names))]
	return u.hashes[other], false
}
