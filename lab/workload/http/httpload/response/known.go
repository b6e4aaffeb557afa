package response

import "bytes"

// Known is a valid head of a server, which the parsers of one thread share. A response that starts
// with the same bytes has the same head, and is not parsed again: nearly all heads of a server are
// equal until its Date changes.
type Known struct {
	text  []byte // from the status line to the empty line; empty: none
	after Parser // the state after text
}

// Share makes p use and update k for all later responses.
func (p *Parser) Share(k *Known) { p.known = k }

// canKnow reports whether the next bytes are the start of a head that can be known.
func (p *Parser) canKnow() bool { return p.known != nil && !p.answersHead && !p.Started() }

// skipKnown consumes the head if it is the known one, and returns its length, else 0.
func (p *Parser) skipKnown(in []byte) int {
	k := p.known
	if len(k.text) == 0 || !bytes.HasPrefix(in, k.text) {
		return 0
	}
	p.Head, p.state, p.bytesLeft, p.partSize, p.keepAlive = k.after.Head, k.after.state, k.after.bytesLeft, k.after.partSize, k.after.keepAlive
	return len(k.text)
}

// save makes text, after which the parser is p, the known head.
func (k *Known) save(p *Parser, text []byte) {
	k.text, k.after = append(k.text[:0], text...), *p
}
