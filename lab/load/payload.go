package load

// payload is what connections send: for each of them an endless text of which any part can be had
// without copying. Connections differ, and within one the text repeats only after a prime number of
// messages, so that bytes lost, doubled, reordered or sent to another connection show. It is
// printable, and a message of at least 8 bytes ends in a newline, so that servers that read lines
// can be driven too.
type payload struct {
	// one cycle, then its beginning again: a slice of up to span bytes can begin anywhere in it
	text   []byte
	cycle  int // bytes
	stride int // bytes; how far apart the connections begin
}

// span is how many bytes of payload can be had at once.
const span = 64 << 10

// newPayload makes the text of messages of size bytes.
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
		p.text[i] = letters[mix(uint64(i))>>58]
		if size >= 8 && i%size == size-1 {
			p.text[i] = '\n'
		}
	}
	p.wrap()
	return p
}

// newRepeated makes the same text over and over, the same for each connection.
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

// at returns connection i's text from the given offset on, n bytes of it but at most span.
func (p *payload) at(i int, offset int64, n int) []byte {
	from := int((int64(i)*int64(p.stride) + offset) % int64(p.cycle))
	return p.text[from : from+min(n, span)]
}
