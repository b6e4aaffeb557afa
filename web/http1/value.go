package http1

import "math"

// Values of step within the value of a framing field.
const (
	beforeValue = iota // in the white space before the value
	insideValue
	afterValue // in the white space after it
)

func (s *Scanner) readValue(b []byte) (n int, v *Violation) {
	switch s.fieldKind {
	case otherField:
		n = textPrefix(b)
	case codingField:
		n, v = s.readCoding(b)
	default:
		n, v = s.readFramingValue(b)
	}
	if v != nil {
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
	if v := s.checkValue(); v != nil {
		return n, v
	}
	if n+1 < len(b) && b[n+1] == '\n' {
		s.state = fieldStart
		return n + 2, nil
	}
	s.state = valueCR
	return n + 1, nil
}

// readFramingValue reads the value of Content-Length or Host up to the line end: one word,
// optionally with white space around it.
func (s *Scanner) readFramingValue(b []byte) (int, *Violation) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if s.fieldKind == hostField && s.step != afterValue {
			if n := s.authority.takePrefix(b[i:]); n > 0 {
				s.step = insideValue
				i += n - 1
				continue
			}
		}
		switch {
		case c == '\r' || c == '\n':
			return i, nil
		case c == ' ' || c == '\t':
			if s.step == insideValue {
				s.step = afterValue
			}
			continue
		case s.step == afterValue || !s.takeValueByte(c):
			return i, s.valueViolation()
		}
		s.step = insideValue
	}
	return len(b), nil
}

// takeValueByte adds a byte to the value. It reports whether the value may have it.
func (s *Scanner) takeValueByte(c byte) bool {
	if s.fieldKind == hostField {
		return s.authority.take(c)
	}
	digit := int64(c - '0') // Content-Length = 1*DIGIT (RFC 9110, section 8.6)
	if digit > 9 || s.bodyLeft > (math.MaxInt64-digit)/10 {
		return false
	}
	s.bodyLeft = s.bodyLeft*10 + digit
	return true
}

func (s *Scanner) valueViolation() *Violation {
	if s.fieldKind == lengthField {
		return errLength
	}
	return errHost
}

// checkValue checks the value at its end: a length must not be empty. A Host may be (RFC 9112,
// section 3.2).
func (s *Scanner) checkValue() *Violation {
	switch {
	case s.fieldKind == codingField:
		return s.checkCoding()
	case s.fieldKind == lengthField && s.step == beforeValue, s.fieldKind == hostField && !s.authority.isHost():
		return s.valueViolation()
	}
	return nil
}

// endHead reads the LF that ends the head or the trailers. It decides how the body is framed (RFC
// 9112, section 6.3).
func (s *Scanner) endHead(c byte) (int, *Violation) {
	switch {
	case c != '\n':
		return 0, errBareCR
	case s.inTrailer:
		s.endMessage()
		return 1, nil
	case s.hasCoding && s.is10: // "MUST treat ... as if the framing is faulty" (section 6.1)
		return 0, errCodingIn10
	case s.hasCoding && s.hasLength: // "ought to be handled as an error" (section 6.3)
		return 0, errBothLengths
	case !s.hasHost && !s.is10: // "MUST respond with a 400" (section 3.2)
		return 0, errNoHost
	case s.hasCoding:
		s.startChunk()
	case s.bodyLeft > 0:
		s.state = inBody
	default:
		s.endMessage()
	}
	return 1, nil
}
