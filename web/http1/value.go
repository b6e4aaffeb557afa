package http1

import "math"

// Where in a value that matters the next byte stands (step).
const (
	before = iota // in the white space before it
	inside
	behind // in the white space after it
)

func (s *Scanner) value(b []byte) (n int, v *Violation) {
	if s.kind == other {
		n = text(b)
	} else if n, v = s.framing(b); v != nil {
		return n, v
	}
	switch {
	case n == len(b):
		return n, nil
	case b[n] == '\n':
		return n, errBareLF
	case b[n] != '\r':
		return n, errValue
	}
	if v := s.valued(); v != nil {
		return n, v
	}
	if n+1 < len(b) && b[n+1] == '\n' {
		s.at = lineStart
		return n + 2, nil
	}
	s.at = valueEnd
	return n + 1, nil
}

// framing reads the value of a field that frames the message up to the line's end: one word, with
// white space around it at most.
func (s *Scanner) framing(b []byte) (int, *Violation) {
	for i, c := range b {
		switch {
		case c == '\r' || c == '\n':
			return i, nil
		case c == ' ' || c == '\t':
			if s.step == inside {
				s.step = behind
			}
			continue
		case s.step == behind || !s.takes(c):
			return i, s.wrong()
		}
		s.step = inside
	}
	return len(b), nil
}

// takes adds a byte to the value.
func (s *Scanner) takes(c byte) bool {
	switch s.kind {
	case lengthKind: // Content-Length = 1*DIGIT (RFC 9110, section 8.6)
		digit := int64(c - '0')
		if digit > 9 || s.left > (math.MaxInt64-digit)/10 {
			return false
		}
		s.left = s.left*10 + digit
		return true
	case codingKind:
		const word = "chunked"
		if int(s.letters) == len(word) || c|0x20 != word[s.letters] {
			return false
		}
		s.letters++
		return true
	}
	return classes[c]&host != 0
}

func (s *Scanner) wrong() *Violation {
	switch s.kind {
	case lengthKind:
		return errLength
	case codingKind:
		return errCoding
	}
	return errHost
}

// valued is at the end of a value: lengths and codings are not empty. A Host may be (RFC 9112,
// section 3.2).
func (s *Scanner) valued() *Violation {
	if s.kind == lengthKind && s.step == before || s.kind == codingKind && s.letters != uint8(len("chunked")) {
		return s.wrong()
	}
	return nil
}

// headEnd reads the LF that ends the head, or the trailers, and decides how the body is framed (RFC
// 9112, section 6.3).
func (s *Scanner) headEnd(c byte) (int, *Violation) {
	switch {
	case c != '\n':
		return 0, errBareCR
	case s.trailer:
		s.end()
		return 1, nil
	case s.chunked && s.is10: // "MUST treat the message as if the framing is faulty" (section 6.1)
		return 0, errCodingIn10
	case s.chunked && s.lengths: // "ought to be handled as an error" (section 6.3)
		return 0, errBothLengths
	case !s.hosts && !s.is10: // "MUST respond with a 400" (section 3.2)
		return 0, errNoHost
	case s.chunked:
		s.chunk()
	case s.left > 0:
		s.at = body
	default:
		s.end()
	}
	return 1, nil
}
