package http1

// kind is what a field does to the framing of its message.
type kind uint8

const (
	other kind = iota
	lengthKind
	codingKind
	hostKind
)

// keep remembers letters of a word that may be cut by the end of a read. Longer ones than fit are
// none of those looked for.
func (s *Scanner) keep(b []byte) {
	copied := copy(s.word[s.letters:], b)
	s.letters += uint8(copied)
}

// requestLine reads method SP request-target SP HTTP-version CRLF (RFC 9112, section 3): single
// spaces, "any other white space … is invalid".
func (s *Scanner) requestLine(b []byte) (int, *Violation) {
	switch s.at {
	case method:
		return s.method(b)
	case uri:
		return s.target(b)
	case version:
		return s.version(b)
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	s.at = lineStart
	return 1, nil
}

func (s *Scanner) method(b []byte) (int, *Violation) {
	n := span(b, token)
	s.keep(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case b[n] != ' ' || s.letters == 0:
		return n, errMethod
	}
	word := string(s.word[:s.letters]) // methods are case-sensitive
	s.post, s.connect, s.options = word == "POST", word == "CONNECT", word == "OPTIONS"
	s.at, s.letters = uri, 0
	return n + 1, nil
}

func (s *Scanner) target(b []byte) (int, *Violation) {
	n := span(b, target)
	s.keep(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case b[n] == '\r' || b[n] == '\n':
		return n, errRequestLine
	case b[n] != ' ' || !s.form():
		return n, errTarget
	}
	s.at, s.step = version, 0
	return n + 1, nil
}

// form says whether the target has the form that goes with the method (RFC 9112, section 3.2): a
// path, a URL of HTTP, for CONNECT an authority, for OPTIONS also an asterisk.
func (s *Scanner) form() bool {
	start := s.word[:s.letters]
	switch {
	case len(start) == 0:
		return false
	case s.connect:
		return classes[start[0]]&host != 0
	case start[0] == '*':
		return s.options && len(start) == 1
	}
	return start[0] == '/' || len(start) > 7 && is(start[:7], "http://") || len(start) > 8 && is(start[:8], "https://")
}

func (s *Scanner) version(b []byte) (int, *Violation) {
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
			s.at = versionEnd
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

// field reads field-name ":" OWS field-value OWS CRLF, or the empty line that ends them (RFC 9112,
// section 5).
func (s *Scanner) field(b []byte) (int, *Violation) {
	switch s.at {
	case lineStart:
		return s.lineStart(b)
	case name:
		return s.name(b)
	case value:
		return s.value(b)
	case headEnd:
		return s.headEnd(b[0])
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	s.at = lineStart
	return 1, nil
}

// lineStart refuses what would continue the line before: "A server that receives an obs-fold in a
// request message … MUST either reject the message … or replace" it (section 5.2).
func (s *Scanner) lineStart(b []byte) (int, *Violation) {
	switch c := b[0]; {
	case c == '\r':
		s.at = headEnd
		return 1, nil
	case c == '\n':
		return 0, errBareLF
	case c == ' ' || c == '\t':
		return 0, errFold
	}
	if s.fields++; s.fields > s.fieldsMax {
		return 0, errFields
	}
	s.at, s.letters = name, 0
	return s.name(b)
}

// name reads up to the colon: "No whitespace is allowed between the field name and colon" (section 5.1).
func (s *Scanner) name(b []byte) (int, *Violation) {
	n := span(b, token)
	s.keep(b[:n])
	switch {
	case n == len(b):
		return n, nil
	case b[n] != ':' || s.letters == 0:
		return n, errName
	}
	if v := s.named(s.word[:s.letters]); v != nil {
		return n, v
	}
	s.at, s.step, s.letters = value, before, 0
	used, v := s.value(b[n+1:])
	return n + 1 + used, v
}

// named finds out whether a field frames the message, and that it does so once.
func (s *Scanner) named(word []byte) *Violation {
	s.kind = other
	switch len(word) {
	case len("host"):
		return s.frames(is(word, "host"), hostKind, &s.hosts, errHosts)
	case len("upgrade"):
		s.upgrade = s.upgrade || !s.trailer && is(word, "upgrade")
	case len("content-length"):
		return s.frames(is(word, "content-length"), lengthKind, &s.lengths, errLengths)
	case len("transfer-encoding"):
		return s.frames(is(word, "transfer-encoding"), codingKind, &s.chunked, errCodings)
	}
	return nil
}

func (s *Scanner) frames(does bool, k kind, seen *bool, twice *Violation) *Violation {
	switch {
	case !does:
		return nil
	case s.trailer:
		return errTrailerField
	case *seen:
		return twice
	}
	*seen, s.kind = true, k
	return nil
}
