package chatload

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The text of a message: eight bytes with the mark of the run, eight with its sender, eight with
// its number, and padding. Numbers are in base 16 with the letters a to p, so that servers treat
// the text as words, and so that eight letters can be decoded at once.
const (
	markSize  = 8
	senderAt  = 8
	numberAt  = 16
	textLeast = 24
	letters   = 0x6161616161616161 // eight times 'a'
	spare     = 0xf0f0f0f0f0f0f0f0 // bits that are not set by any letter after 'a' is subtracted
)

// appendLetters appends v as eight letters.
func appendLetters(to []byte, v uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		to = append(to, 'a'+byte(v>>shift)&15)
	}
	return to
}

// readLetters decodes the first eight bytes of text, the inverse of appendLetters.
func readLetters(text []byte) (v uint32, ok bool) {
	x := binary.BigEndian.Uint64(text) - letters
	if x&spare != 0 {
		return 0, false
	}
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16), true
}

// makeMark makes the eight bytes that mark a run from a random number.
func makeMark(random uint64) uint64 {
	return binary.LittleEndian.Uint64(appendLetters(nil, uint32(bits.RotateLeft64(random, 7)^random>>32)))
}

// texts encodes and decodes the texts of a run.
type texts struct {
	mark    uint64
	size    int
	padding []byte
}

func newTexts(mark uint64, size int) texts {
	return texts{mark: mark, size: size, padding: bytes.Repeat([]byte("weir "), size/5+1)[:size-textLeast]}
}

// append appends the text of a message.
func (t *texts) append(to []byte, sender, number uint32) []byte {
	to = binary.LittleEndian.AppendUint64(to, t.mark)
	to = appendLetters(appendLetters(to, sender), number)
	return append(to, t.padding...)
}

// find reports whether a line, without its end, ends with a text of this run, and where the text
// starts.
func (t *texts) find(line []byte) (at int, ok bool) {
	at = len(line) - t.size
	return at, at >= 2 && binary.LittleEndian.Uint64(line[at:]) == t.mark
}

// read decodes a text that find has found.
func (t *texts) read(text []byte) (sender, number uint32, ok bool) {
	sender, first := readLetters(text[senderAt:])
	number, second := readLetters(text[numberAt:])
	return sender, number, first && second && bytes.Equal(text[textLeast:], t.padding)
}

// lineOf is a parsed line of IRC, as far as this program needs it.
type lineOf struct {
	tags    []byte // without the @, nil if there are none
	source  []byte // without the colon, nil if there is none
	command []byte
	params  [15][]byte
	n       int // number of params
}

// parse parses a line without its end. All parts are slices of it.
func parse(line []byte) (p lineOf) {
	if len(line) > 0 && line[0] == '@' {
		p.tags, line = word(line[1:])
	}
	if len(line) > 0 && line[0] == ':' {
		p.source, line = word(line[1:])
	}
	p.command, line = word(line)
	for len(line) > 0 && p.n < len(p.params) {
		if line[0] == ':' || p.n == len(p.params)-1 {
			p.params[p.n] = bytes.TrimPrefix(line, []byte(":"))
			p.n++
			break
		}
		p.params[p.n], line = word(line)
		p.n++
	}
	return p
}

// param returns parameter i, nil if there is none.
func (p *lineOf) param(i int) []byte {
	if i >= 0 && i < p.n {
		return p.params[i]
	}
	return nil
}

// last returns the last parameter, nil if there is none.
func (p *lineOf) last() []byte { return p.param(p.n - 1) }

// tag returns the raw value of a tag, nil if it is missing.
func (p *lineOf) tag(name string) []byte {
	for rest := p.tags; len(rest) > 0; {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte(";"))
		if key, value, _ := bytes.Cut(one, []byte("=")); string(key) == name {
			return value
		}
	}
	return nil
}

// word splits off the first word of a line.
func word(line []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(line, []byte(" "))
	return first, bytes.TrimLeft(rest, " ")
}
