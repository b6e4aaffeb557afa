package irc

import (
	"encoding/base64"
	"errors"
)

// saslChunk is the length of a full AUTHENTICATE parameter (IRCv3 SASL 3.1). A shorter one is the
// last of a message.
const saslChunk = 400

// ErrSASL is the error of a client message that is too long or not base64.
var ErrSASL = errors.New("irc: the SASL message is too long or not base64")

// SASLMessage collects the parts of a client's SASL message, at most 8 KiB.
type SASLMessage struct{ text []byte }

// Add adds one part. whole reports that the message is complete, and answer is its decoded content.
func (a *SASLMessage) Add(chunk string) (answer []byte, whole bool, err error) {
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

// SASLParts returns the AUTHENTICATE parameters of a server's message, as many as it needs.
func SASLParts(message []byte) []string {
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
