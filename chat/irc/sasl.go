package irc

import (
	"encoding/base64"
	"errors"
)

// saslChunk is how much of an answer one AUTHENTICATE carries; a shorter one is the last.
const saslChunk = 400

// ErrSASL is the error of an answer that is too long or no base64.
var ErrSASL = errors.New("irc: the SASL answer cannot be read")

// Answer collects what a client says in an AUTHENTICATE exchange, of at most 8 KiB.
type Answer struct{ text []byte }

// Add takes one chunk. Whole says that the answer is complete, and decoded.
func (a *Answer) Add(chunk string) (answer []byte, whole bool, err error) {
	if chunk != "+" {
		a.text = append(a.text, chunk...)
	}
	if len(chunk) > saslChunk || len(a.text) > 8192 {
		a.text = nil
		return nil, true, ErrSASL
	}
	if len(chunk) == saslChunk {
		return nil, false, nil
	}
	text := a.text
	a.text = nil
	answer, err = base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, true, ErrSASL
	}
	return answer, true, nil
}

// Challenge is what AUTHENTICATE says for a server's message, in as many parts as it needs.
func Challenge(message []byte) []string {
	text := base64.StdEncoding.EncodeToString(message)
	var parts []string
	for len(text) >= saslChunk {
		parts = append(parts, text[:saslChunk])
		text = text[saslChunk:]
	}
	if text == "" {
		text = "+"
	}
	return append(parts, text)
}
