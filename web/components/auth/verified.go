package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// maxVerified is the maximum number of remembered pairs of name and password.
const maxVerified = 4096

// verifiedPairs remembers verified pairs of name and password by a keyed digest (HMAC). The key
// never leaves the process, so the digest reveals nothing. The digest includes the user's hash:
// when that changes, the pair is no longer found.
type verifiedPairs struct {
	key [32]byte

	mu   sync.Mutex
	seen map[[sha256.Size]byte]struct{}
}

func newVerified() *verifiedPairs {
	v := &verifiedPairs{seen: map[[sha256.Size]byte]struct{}{}}
	_, _ = rand.Read(v.key[:]) // never fails
	return v
}

func (v *verifiedPairs) digest(hash []byte, name, password string) (d [sha256.Size]byte) {
	m := hmac.New(sha256.New, v.key[:])
	for _, part := range [...]string{string(hash), name, password} {
		m.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		m.Write([]byte(part))
	}
	m.Sum(d[:0])
	return d
}

// has reports whether a pair is remembered.
func (v *verifiedPairs) has(d [sha256.Size]byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.seen[d]
	return ok
}

// add remembers a pair. At the maximum, it forgets an arbitrary other pair.
func (v *verifiedPairs) add(d [sha256.Size]byte) {
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
