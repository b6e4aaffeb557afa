package tcpip

import (
	crypto "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
)

// hashSource is a source of random numbers for all goroutines of a stack: SipHash of a counter. The
// key is of package crypto/rand, so that they cannot be predicted, and that testing/cryptotest
// makes them the same in each run of a test.
type hashSource struct {
	key   [16]byte
	count atomic.Uint64
}

func newRandom() *rand.Rand {
	h := &hashSource{}
	crypto.Read(h.key[:]) //nolint:errcheck // it never fails
	return rand.New(h)
}

// Uint64 implements rand.Source.
func (h *hashSource) Uint64() uint64 {
	var count [8]byte
	binary.LittleEndian.PutUint64(count[:], h.count.Add(1))
	return siphash(&h.key, count[:])
}
