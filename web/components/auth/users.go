package auth

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// maxCost is the maximum bcrypt cost that is accepted: a check of cost 16 takes some seconds.
const maxCost = 16

// users is the content of a users file.
type users struct {
	hashes map[string][]byte // by name
	names  []string          // in the order of the file, for the choice in hash
	seed   maphash.Seed      // makes that choice unpredictable
}

// parseUsers parses lines NAME:HASH, as htpasswd -B writes them. It skips empty lines and comments,
// which start with #.
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
			return nil, fmt.Errorf("line %d: this user has an earlier line: remove one", number)
		}
		u.hashes[name] = hash
		u.names = append(u.names, name)
	}
	return u, nil
}

func parseUser(line []byte) (name string, hash []byte, err error) {
	n, h, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(n) == 0 || strings.ContainsFunc(string(n), isControl) {
		return "", nil, errors.New("write NAME:HASH, as htpasswd -B does")
	}
	cost, err := bcrypt.Cost(h)
	if err != nil || len(h) != 60 {
		return "", nil, errors.New("the password is not a bcrypt hash: make one with htpasswd -B")
	}
	if cost > maxCost {
		return "", nil, fmt.Errorf("a hash of cost %d takes too long to check: make one of at most %d", cost, maxCost)
	}
	return string(n), bytes.Clone(h), nil
}

// isControl reports whether names and passwords may not contain a character (RFC 7617, section 2).
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// hash returns the hash to compare a user's password with. For an unknown name it returns the hash
// of another user, the same one until the file is read again. So a check takes as long whether the
// user exists or not, even if the costs of the hashes differ. It is nil if the file has no users.
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
