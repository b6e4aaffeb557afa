package streamload

import "weir/lab/internal/schedule"

// payload is the data that connections send: for each connection an endless text, of which any part
// is available without copying. Connections differ, and the text of one repeats only after a prime
// number of messages. Lost, duplicated, reordered or misdirected bytes are therefore detected. The
// text is printable, and a message of at least 8 bytes ends in a newline, so that line-based
// servers can be tested.
type payload struct {
	// one cycle, then its start again, so that a slice of up to span bytes can start anywhere in it
	text   []byte
	cycle  int // bytes
	stride int // bytes between the starts of consecutive connections
}

// span is the largest part of the payload that is available at once, in bytes.
const span = 64 << 10

// newPayload creates the text for messages of size bytes.
func newPayload(size int) *payload {
	messages := 7
	for _, prime := range []int{17, 67, 257, 1031, 4099, 16411, 65537} {
		if prime*size <= 2*span {
			messages = prime
		}
	}
	p := &payload{cycle: messages * size, stride: 3 * size}
	p.text = make([]byte, p.cycle+span)
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
	for i := range p.cycle {
		p.text[i] = letters[schedule.Mix(uint64(i))>>58]
		if size >= 8 && i%size == size-1 {
			p.text[i] = '\n'
		}
	}
	p.wrap()
	return p
}

// newRepeated creates a payload that repeats one text, the same for each connection.
func newRepeated(text string) *payload {
	p := &payload{text: make([]byte, len(text)+span), cycle: len(text)}
	copy(p.text, text)
	p.wrap()
	return p
}

func (p *payload) wrap() {
	for i := p.cycle; i < len(p.text); i++ {
		p.text[i] = p.text[i-p.cycle]
	}
}

// at returns n bytes, at most span, of connection i's text from the given offset on.
func (p *payload) at(i int, offset int64, n int) []byte {
	from := int((int64(i)*int64(p.stride) + offset) % int64(p.cycle))
	return p.text[from : from+min(n, span)]
}
