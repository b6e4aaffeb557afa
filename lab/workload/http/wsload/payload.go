package wsload

import "weir/lab/internal/schedule"

// spread is the number of different contents of messages.
const spread = 4096

// payloads are the contents of messages. They are printable, so that they are valid text.
type payloads struct {
	block []byte
	size  int
}

func newPayloads(size int) payloads {
	p := payloads{make([]byte, size+spread), size}
	for i := range p.block {
		p.block[i] = ' ' + byte(schedule.Mix(uint64(i))%95)
	}
	return p
}

// of returns the content of message k of connection i. It must not be changed.
func (p *payloads) of(i int, k uint64) []byte {
	at := schedule.Mix(schedule.Mix(uint64(i))+k) % spread
	return p.block[at:][:p.size]
}
