package auth

import (
	"cmp"
	"time"

	"weir/web/components/internal/bucket"
	"weir/web/internal/client"
)

const (
	// usualAttempts is how many wrong passwords an address may send at once, and in a minute, if
	// nothing else is said.
	usualAttempts = 20
	// maxAddresses is how many addresses that sent wrong passwords are counted.
	maxAddresses = 1 << 16
)

// Memory is what [Basic] remembers of clients: which pairs of name and password were right, as
// digests, and which addresses have sent wrong ones. Several components, also one after the other,
// may share one.
type Memory struct {
	*verified
	guesses *bucket.Buckets
	start   time.Time // of the clock that guesses have
}

// NewMemory makes a memory for components with so many [BasicConfig.Attempts].
func NewMemory(attempts int) *Memory {
	burst := cmp.Or(attempts, usualAttempts)
	return &Memory{verified: newVerified(), guesses: bucket.New(time.Minute/time.Duration(burst), burst, maxAddresses), start: time.Now()}
}

// attempt counts a password that may be wrong. It returns after how many seconds one may be tried,
// 0: now.
func (m *Memory) attempt(address string) (wait int) {
	s := m.guesses.Take(bucket.Client{Addr: client.Network(address)}, time.Since(m.start))
	if s.OK {
		return 0
	}
	return int((s.Wait + time.Second - 1) / time.Second)
}

// excuse takes an attempt back that was no guess.
func (m *Memory) excuse(address string) {
	m.guesses.Return(bucket.Client{Addr: client.Network(address)})
}
