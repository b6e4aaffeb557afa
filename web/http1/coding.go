package http1

// readCoding reads the value of Transfer-Encoding up to the line end. The whole value decides about
// the status of a rejection.
func (s *Scanner) readCoding(b []byte) (int, *Violation) {
	n := textPrefix(b)
	for _, c := range b[:n] {
		s.takeCodingByte(c)
	}
	if n < len(b) && b[n] != '\r' && b[n] != '\n' {
		return n, errCoding
	}
	return n, nil
}

// otherCoding is the value of wordLen in an element that is not chunked.
const otherCoding = 255

func (s *Scanner) takeCodingByte(c byte) {
	const word = "chunked"
	switch {
	case c == ',':
		s.hasCodings, s.step, s.wordLen = true, beforeValue, 0
	case c == ' ' || c == '\t':
		if s.step == insideValue {
			s.step = afterValue
		}
	case s.step == afterValue || int(s.wordLen) >= len(word) || c|0x20 != word[s.wordLen]:
		s.wordLen = otherCoding
	default:
		s.step = insideValue
		s.wordLen++
	}
}

// checkCoding checks a Transfer-Encoding at its end. If "the chunked transfer coding is not the
// final encoding, the message body length cannot be determined reliably; the server MUST respond
// with the 400" (RFC 9112, section 6.3). A coding before it that the server does not understand
// gives 501 (section 6.1).
func (s *Scanner) checkCoding() *Violation {
	switch {
	case s.wordLen != uint8(len("chunked")):
		return errCoding
	case s.hasCodings:
		return errOtherCoding
	}
	return nil
}
