package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// maxVerified is how many pairs of name and password are remembered.
const maxVerified = 4096

// verified remembers which pairs of name and password were found right, by a digest that says
// nothing about them to who does not have the key, which never leaves the process. Part of the
// digest is the hash that they were held against: when that changes, they are no longer found.
type verified struct {
	key [32]byte

	mu   sync.Mutex
	seen map[[sha256.Size]byte]struct{}
}

func newVerified() *verified {
	v := &verified{seen: map[[sha256.Size]byte]struct{}{}}
	_, _ = rand.Read(v.key[:]) // it never fails
	return v
}

func (v *verified) digest(hash []byte, name, password string) (d [sha256.Size]byte) {
	m := hmac.New(sha256.New, v.key[:])
	for _, part := range [...]string{string(hash), name, password} {
		m.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		m.Write([]byte(part))
	}
	m.Sum(d[:0])
	return d
}

func (v *verified) has(d [sha256.Size]byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.seen[d]
	return ok
}

// add remembers a pair; when there are too many, any one of the others is forgotten.
func (v *verified) add(d [sha256.Size]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.seen) >= maxVerified {
		for other := range v.seen {
			delete(v.seen, other)
			break
		}
	}
	v.seen[d] = struct{}{}
}
