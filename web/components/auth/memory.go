package auth

import (
	"cmp"
	"time"

	"weir/web/components/internal/bucket"
	"weir/web/internal/client"
)

const (
	// defaultAttempts is the default of BasicConfig.Attempts.
	defaultAttempts = 20
	// maxAddresses is the maximum number of addresses whose wrong passwords are counted.
	maxAddresses = 1 << 16
)

// Memory is what [Basic] remembers of clients: verified pairs of name and password, as digests, and
// the addresses that have sent wrong ones. Several components, also one after the other, may share
// a Memory.
type Memory struct {
	*verifiedPairs
	attempts *bucket.Buckets
	start    time.Time // start of the clock of attempts
}

// NewMemory returns a Memory for components with the given [BasicConfig.Attempts].
func NewMemory(attempts int) *Memory {
	burst := cmp.Or(attempts, defaultAttempts)
	return &Memory{verifiedPairs: newVerified(), attempts: bucket.New(time.Minute/time.Duration(burst), burst, maxAddresses), start: time.Now()}
}

// attempt counts a password that may be wrong. It returns the seconds until the next attempt is
// allowed; 0: now.
func (m *Memory) attempt(address string) (wait int) {
	s := m.attempts.Take(bucket.Client{Addr: client.Network(address)}, time.Since(m.start))
	if s.OK {
		return 0
	}
	return int((s.UntilToken + time.Second - 1) / time.Second)
}

// undoAttempt uncounts an attempt with the right password.
func (m *Memory) undoAttempt(address string) {
	m.attempts.Return(bucket.Client{Addr: client.Network(address)})
}
