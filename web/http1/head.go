package http1

// fieldKind says what a field does to the framing of its message.
type fieldKind uint8

const (
	otherField fieldKind = iota
	lengthField
	codingField
	hostField
)

// keepWord collects a word that may be split over reads. A word longer than the buffer is
// truncated: it is none of those compared with.
func (s *Scanner) keepWord(b []byte) {
	copied := copy(s.word[s.wordLen:], b)
	s.wordLen += uint8(copied)
}

// readRequestLine reads method SP request-target SP HTTP-version CRLF (RFC 9112, section 3). It
// accepts single spaces only.
func (s *Scanner) readRequestLine(b []byte) (int, *Violation) {
	switch s.state {
	case inMethod:
		return s.readMethod(b)
	case inTarget:
		return s.readTarget(b)
	case inVersion:
		return s.readVersion(b)
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	s.state = fieldStart
	return 1, nil
}

func (s *Scanner) readMethod(b []byte) (int, *Violation) {
	n := prefixOf(b, tokenByte)
	s.keepWord(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case b[n] != ' ' || s.wordLen == 0:
		return n, errMethod
	}
	word := string(s.word[:s.wordLen]) // methods are case-sensitive
	s.isPost, s.isConnect, s.isOptions = word == "POST", word == "CONNECT", word == "OPTIONS"
	s.state, s.wordLen = inTarget, 0
	return n + 1, nil
}

func (s *Scanner) readTarget(b []byte) (int, *Violation) {
	n := prefixOf(b, targetByte)
	s.keepWord(b[:n])
	if s.isConnect {
		for _, c := range b[:n] {
			s.authority.take(c)
		}
	}
	switch {
	case n == len(b):
		return n, nil
	case b[n] == '\r' || b[n] == '\n':
		return n, errRequestLine
	case b[n] != ' ' || !s.hasValidForm():
		return n, errTarget
	}
	s.state, s.step = inVersion, 0
	return n + 1, nil
}

// hasValidForm reports whether the form of the target fits the method (RFC 9112, section 3.2):
// origin form or an http URL, authority form for CONNECT, and for OPTIONS also the asterisk form.
func (s *Scanner) hasValidForm() bool {
	start := s.word[:s.wordLen]
	switch {
	case len(start) == 0:
		return false
	case s.isConnect:
		return s.authority.isTarget()
	case start[0] == '*':
		return s.isOptions && len(start) == 1
	}
	return start[0] == '/' || isURL(start, "http://") || isURL(start, "https://")
}

// isURL reports whether a target starts with a scheme and a host: "A recipient that processes such
// a URI reference" with an empty host "MUST reject it as invalid" (RFC 9110, section 4.2.1).
func isURL(start []byte, scheme string) bool {
	n := len(scheme)
	return len(start) > n && equalFold(start[:n], scheme) && classes[start[n]]&hostByte != 0 && start[n] != ':'
}

func (s *Scanner) readVersion(b []byte) (int, *Violation) {
	const known = "HTTP/1."
	for i, c := range b {
		digit := '0' <= c && c <= '9'
		switch {
		case s.step < 7 && c == known[s.step]:
		case s.step == 5 && digit, s.step == 7 && digit && c > '1':
			return i, errVersion
		case s.step == 7 && digit:
			s.is10 = c == '0'
		case s.step == 8 && c == '\r':
			s.state = versionCR
			return i + 1, nil
		case s.step == 8 && c == '\n':
			return i, errBareLF
		default:
			return i, errRequestLine
		}
		s.step++
	}
	return len(b), nil
}

// readField reads field-name ":" OWS field-value OWS CRLF, or the empty line that ends the fields
// (RFC 9112, section 5).
func (s *Scanner) readField(b []byte) (int, *Violation) {
	switch s.state {
	case fieldStart:
		return s.startField(b)
	case inName:
		return s.readName(b)
	case inValue:
		return s.readValue(b)
	case endCR:
		return s.endHead(b[0])
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	s.state = fieldStart
	return 1, nil
}

// startField reads the first byte of a line. It rejects line folding: "A server that receives an
// obs-fold in a request message ... MUST either reject the message ... or replace" it (RFC 9112,
// section 5.2).
func (s *Scanner) startField(b []byte) (int, *Violation) {
	switch c := b[0]; {
	case c == '\r':
		s.state = endCR
		return 1, nil
	case c == '\n':
		return 0, errBareLF
	case c == ' ' || c == '\t':
		return 0, errFold
	}
	if s.fieldCount++; s.fieldCount > s.maxFields {
		return 0, errFields
	}
	s.state, s.wordLen = inName, 0
	return s.readName(b)
}

// readName reads up to the colon: "No whitespace is allowed between the field name and colon" (RFC
// 9112, section 5.1).
func (s *Scanner) readName(b []byte) (int, *Violation) {
	n := prefixOf(b, tokenByte)
	s.keepWord(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case b[n] != ':' || s.wordLen == 0:
		return n, errName
	}
	if v := s.checkName(s.word[:s.wordLen]); v != nil {
		return n, v
	}
	s.state, s.step, s.wordLen, s.authority = inValue, beforeValue, 0, authority{}
	used, v := s.readValue(b[n+1:])
	return n + 1 + used, v
}

// checkName detects fields that frame the message, and rejects a second one of the same name.
func (s *Scanner) checkName(word []byte) *Violation {
	s.fieldKind = otherField
	switch len(word) {
	case len("host"):
		return s.frameOnce(equalFold(word, "host"), hostField, &s.hasHost, errHosts)
	case len("upgrade"):
		s.hasUpgrade = s.hasUpgrade || !s.inTrailer && equalFold(word, "upgrade")
	case len("content-length"):
		return s.frameOnce(equalFold(word, "content-length"), lengthField, &s.hasLength, errLengths)
	case len("transfer-encoding"):
		return s.frameOnce(equalFold(word, "transfer-encoding"), codingField, &s.hasCoding, errCodings)
	}
	return nil
}

// frameOnce records a framing field of kind k if isKind is set. It returns twice if the message has
// one already.
func (s *Scanner) frameOnce(isKind bool, k fieldKind, seen *bool, twice *Violation) *Violation {
	switch {
	case !isKind:
		return nil
	case s.inTrailer:
		return errTrailerField
	case *seen:
		return twice
	}
	*seen, s.fieldKind = true, k
	return nil
}
