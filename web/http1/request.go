package http1

import (
	"bytes"
	"iter"
)

// Request is the head of a request as slices of the bytes that it was read from. They are valid as
// long as those bytes.
type Request struct {
	Method []byte
	Target []byte // as received (RFC 9112, section 3.2)
	Minor  int    // minor version: HTTP/1.Minor, 0 or 1
	Fields []byte // the field lines, each with its CRLF
}

// ParseRequest splits a head that a Scanner has accepted: b starts with the request line and ends
// with the empty line.
func ParseRequest(b []byte) Request {
	method, rest, _ := bytes.Cut(b, []byte{' '})
	target, rest, _ := bytes.Cut(rest, []byte{' '})
	const version = len("HTTP/1.1")
	return Request{Method: method, Target: target, Minor: int(rest[version-1] - '0'), Fields: rest[version+len("\r\n") : len(rest)-len("\r\n")]}
}

// FieldLines iterates over names and values of field lines that a Scanner has accepted. Values have
// no white space around them (RFC 9110, section 5.5).
func FieldLines(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(b) > 0 {
			colon := bytes.IndexByte(b, ':')
			end := bytes.IndexByte(b, '\r')
			if !yield(b[:colon], trimSpace(b[colon+1:end])) {
				return
			}
			b = b[end+len("\r\n"):]
		}
	}
}

// trimSpace removes optional white space (RFC 9110, section 5.6.3) from both ends.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// Options are the properties of a request that decide how its connection goes on.
type Options struct {
	Length         int64 // of the content in bytes; -1: chunked, so that it is not known
	Close          bool  // the connection ends with the response (RFC 9112, section 9.6)
	KeepAlive      bool  // an HTTP/1.0 client asks for a persistent connection (section 9.3)
	Upgrade        bool  // the client offers other protocols (RFC 9110, section 7.8)
	ExpectContinue bool  // the client waits for 100 (Continue) (RFC 9110, section 10.1.1)
	// The client has an expectation that this package does not know (RFC 9110, section 10.1.1).
	ExpectUnknown bool
}

// ParseOptions reads the options from the fields of a request that a Scanner has accepted.
func ParseOptions(r Request) Options {
	var o Options
	upgradeOption := false
	hasUpgrade := false
	for name, value := range FieldLines(r.Fields) {
		switch {
		case equalFold(name, "content-length"):
			o.Length = decimal(value)
		case equalFold(name, "transfer-encoding"):
			o.Length = -1
		case equalFold(name, "upgrade"):
			hasUpgrade = true
		case equalFold(name, "expect"):
			known, unknown := parseExpect(value)
			o.ExpectContinue, o.ExpectUnknown = o.ExpectContinue || known, o.ExpectUnknown || unknown
		case equalFold(name, "connection"):
			o.Close = o.Close || HasToken(value, "close")
			o.KeepAlive = o.KeepAlive || HasToken(value, "keep-alive")
			upgradeOption = upgradeOption || HasToken(value, "upgrade")
		}
	}
	o.Upgrade = hasUpgrade && upgradeOption && r.Minor > 0
	// "A server MUST ignore an Upgrade header field that is received in an HTTP/1.0 request" (RFC
	// 9110, section 7.8). The same holds for the expectation 100-continue (section 10.1.1).
	if r.Minor == 0 {
		o.Close = o.Close || !o.KeepAlive
		o.ExpectContinue, o.ExpectUnknown = false, false
	}
	o.ExpectContinue = o.ExpectContinue && !o.ExpectUnknown
	return o
}

// parseExpect reports whether a list of expectations has 100-continue, and whether it has others.
func parseExpect(list []byte) (known, unknown bool) {
	for len(list) > 0 {
		element, rest, _ := bytes.Cut(list, []byte{','})
		element = trimSpace(element)
		isKnown := equalFold(element, "100-continue")
		known, unknown = known || isKnown, unknown || !isKnown && len(element) > 0
		list = rest
	}
	return known, unknown
}

// decimal returns the value of a Content-Length that a Scanner has accepted.
func decimal(digits []byte) (n int64) {
	for _, c := range digits {
		n = 10*n + int64(c-'0')
	}
	return n
}

// HasToken reports whether a comma-separated list has the token, which is in lower case (RFC 9110,
// section 5.6.1).
func HasToken(list []byte, token string) bool {
	for len(list) > 0 {
		element, rest, _ := bytes.Cut(list, []byte{','})
		if equalFold(trimSpace(element), token) {
			return true
		}
		list = rest
	}
	return false
}
