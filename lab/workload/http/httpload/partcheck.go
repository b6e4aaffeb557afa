package httpload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"weir/lab/workload/http/httpload/response"
)

// partCheck checks bodies that are not known as a whole. It is not safe for concurrent use.
type partCheck struct {
	gzip   bool  // gzip was requested
	length int64 // -1: any
	sum    []byte
	match  *regexp.Regexp // nil: none
	fields []jsonField

	passed       []byte // the body that passed last, as transferred; equal ones pass too
	passedCoding response.Coding
	hasPassed    bool
}

// newPartCheck returns the checks of c, which must be valid.
func newPartCheck(c Check, gzip bool) *partCheck {
	k := &partCheck{gzip: gzip, length: -1}
	if c.Length != nil {
		k.length = *c.Length
	}
	if c.SHA256 != "" {
		k.sum, _ = hex.DecodeString(c.SHA256) //nolint:errcheck // c is valid
	}
	if c.Match != "" {
		k.match = regexp.MustCompile(c.Match)
	}
	for _, text := range c.JSON {
		field, _ := parseJSONField(text) //nolint:errcheck // c is valid
		k.fields = append(k.fields, field)
	}
	return k
}

// searches reports whether a body must be kept until it is complete.
func (k *partCheck) searches() bool { return k.match != nil || len(k.fields) > 0 }

// accepts reports whether a content coding can be decoded.
func (k *partCheck) accepts(coding response.Coding) bool {
	return coding == response.Identity || coding == response.Gzip && k.gzip
}

// feed takes the next piece of a body: it is kept or hashed.
func (k *partCheck) feed(b *body, piece []byte, coding response.Coding) {
	b.received += int64(len(piece))
	switch {
	case !k.accepts(coding):
	case coding == response.Gzip && b.received <= maxEncoded, k.searches() && b.received <= MaxSearched:
		b.encoded = append(b.encoded, piece...)
	case coding == response.Identity && k.sum != nil && !k.searches():
		if b.sum == nil {
			b.sum = sha256.New()
		}
		b.sum.Write(piece)
	}
}

// judge returns the kind of error of a complete body and its detail; "" if it passes.
func (k *partCheck) judge(b *body, coding response.Coding) (kind, detail string) {
	if !k.accepts(coding) {
		return kindBody, "its body has a content coding that was not requested"
	}
	if coding == response.Identity && !k.searches() {
		return k.judgeStream(b)
	}
	if k.hasPassed && k.passedCoding == coding && bytes.Equal(k.passed, b.encoded) && b.received == int64(len(b.encoded)) {
		return "", ""
	}
	text := b.encoded
	if coding == response.Gzip {
		var err error
		if text, err = k.decode(b); err != nil {
			return kindBody, "its body cannot be decoded from gzip: " + err.Error()
		}
	}
	if coding == response.Identity && b.received > MaxSearched {
		return kindBody, fmt.Sprintf("its body has more than the %d bytes that are searched", MaxSearched)
	}
	if kind, detail = k.judgeText(text); kind == "" && len(b.encoded) <= MaxSearched {
		k.passed, k.passedCoding, k.hasPassed = append(k.passed[:0], b.encoded...), coding, true
	}
	return kind, detail
}

// decode removes gzip from a body.
func (k *partCheck) decode(b *body) ([]byte, error) {
	if b.received > maxEncoded {
		return nil, fmt.Errorf("it has more than %d bytes", maxEncoded)
	}
	if b.received == 0 {
		return nil, nil
	}
	if k.searches() {
		return gunzip(b.encoded, MaxSearched)
	}
	return gunzip(b.encoded, maxEncoded)
}

// judgeStream judges a body of which only the length and the hash were kept.
func (k *partCheck) judgeStream(b *body) (kind, detail string) {
	if kind, detail = k.judgeLength(b.received); kind != "" || k.sum == nil {
		return kind, detail
	}
	if b.received == 0 {
		return k.judgeText(nil)
	}
	return k.judgeSum(b.sum.Sum(nil))
}

func (k *partCheck) judgeLength(n int64) (kind, detail string) {
	if k.length >= 0 && n != k.length {
		return kindLength, fmt.Sprintf("its body has %d bytes and not %d", n, k.length)
	}
	return "", ""
}

func (k *partCheck) judgeSum(sum []byte) (kind, detail string) {
	if !bytes.Equal(sum, k.sum) {
		return kindSHA256, fmt.Sprintf("its body has the SHA-256 %x and not %x", sum, k.sum)
	}
	return "", ""
}

// judgeText judges a decoded body.
func (k *partCheck) judgeText(text []byte) (kind, detail string) {
	if kind, detail = k.judgeLength(int64(len(text))); kind != "" {
		return kind, detail
	}
	if k.sum != nil {
		sum := sha256.Sum256(text)
		if kind, detail = k.judgeSum(sum[:]); kind != "" {
			return kind, detail
		}
	}
	if k.match != nil && !k.match.Match(text) {
		return kindMatch, fmt.Sprintf("its body does not match %.60q", k.match)
	}
	if len(k.fields) == 0 {
		return "", ""
	}
	document, err := decodeJSON(text)
	if err != nil {
		return kindJSON, "its body is not JSON: " + err.Error()
	}
	for _, f := range k.fields {
		if detail := f.check(document); detail != "" {
			return kindJSON, detail
		}
	}
	return "", ""
}
