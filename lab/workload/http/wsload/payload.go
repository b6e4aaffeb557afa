package wsload

import "weir/lab/internal/schedule"

// spread is the number of different contents of messages.
const spread = 4096

// payloads are the contents of messages. They are printable, so that they are valid text.
type payloads struct {
	block []byte // the only content, or contents of size bytes from each of its first bytes
	size  int
	only  bool
}

// newPayloads returns contents of size bytes that differ, or the message if it is not empty.
func newPayloads(size int, message string) payloads {
	if message != "" {
		return payloads{block: []byte(message), size: len(message), only: true}
	}
	p := payloads{block: make([]byte, size+spread), size: size}
	for i := range p.block {
		p.block[i] = ' ' + byte(schedule.Mix(uint64(i))%95)
	}
	return p
}

// of returns the content of message k of connection i. It must not be changed.
func (p *payloads) of(i int, k uint64) []byte {
	if p.only {
		return p.block
	}
	at := schedule.Mix(schedule.Mix(uint64(i))+k) % spread
	return p.block[at:][:p.size]
}
