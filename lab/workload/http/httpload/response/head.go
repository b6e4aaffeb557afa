package response

import "bytes"

var version = []byte("HTTP/1.")

// startsStatusLine reports whether text can be the start of a status line.
func startsStatusLine(text []byte) bool {
	n := min(len(text), len(version))
	if !bytes.Equal(text[:n], version[:n]) {
		return false
	}
	return len(text) <= n || text[n] == '0' || text[n] == '1'
}

// readStatus parses HTTP/1.x SP 3DIGIT SP [reason] (RFC 9112, section 4).
func (p *Parser) readStatus(text []byte) error {
	if len(text) < len(version)+1 || !startsStatusLine(text) {
		return ErrVersion
	}
	rest := text[len(version)+1:]
	if len(rest) < 5 || rest[0] != ' ' || rest[4] != ' ' || !isValue(rest[5:]) {
		return ErrStatusLine
	}
	for _, c := range rest[1:4] {
		if c < '0' || c > '9' {
			return ErrStatusLine
		}
		p.Status = 10*p.Status + int(c-'0')
	}
	if p.Status < 100 {
		return ErrStatusLine
	}
	p.Minor, p.Length, p.state = int(text[len(version)]-'0'), -1, fields
	return nil
}

// cutField splits name ":" OWS value OWS (RFC 9112, section 5). A folded line starts with a space,
// which no name contains, so it is an error.
func cutField(text []byte) (name, value []byte, err error) {
	i := 0
	for i < len(text) && tokens[text[i]] {
		i++
	}
	if i == 0 || i == len(text) || text[i] != ':' {
		return nil, nil, ErrField
	}
	name, value = text[:i], trim(text[i+1:])
	if !isValue(value) {
		return nil, nil, ErrField
	}
	return name, value, nil
}

// readField evaluates a field that frames the message or encodes its body.
func (p *Parser) readField(text []byte) error {
	name, value, err := cutField(text)
	if err != nil {
		return err
	}
	switch {
	case equalFold(name, "content-length"):
		return p.readLength(value)
	case equalFold(name, "transfer-encoding"):
		if p.Chunked || !equalFold(value, "chunked") {
			return ErrCoding
		}
		p.Chunked = true
	case equalFold(name, "connection"):
		p.readConnection(value)
	case equalFold(name, "content-encoding"):
		p.readCoding(value)
	}
	return nil
}

func (p *Parser) readLength(value []byte) error {
	if p.Length >= 0 || len(value) == 0 || len(value) > 18 {
		return ErrLength
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return ErrLength
		}
		n = 10*n + int64(c-'0')
	}
	p.Length = n
	return nil
}

// readConnection searches a list for close and keep-alive (RFC 9112, section 9.3). close has
// priority.
func (p *Parser) readConnection(value []byte) {
	for len(value) > 0 {
		option, rest, _ := bytes.Cut(value, []byte{','})
		option = trim(option)
		p.Close = p.Close || equalFold(option, "close")
		p.keepAlive = p.keepAlive || equalFold(option, "keep-alive")
		value = rest
	}
}

func (p *Parser) readCoding(value []byte) {
	switch {
	case equalFold(value, "identity"):
	case p.Coding == Identity && (equalFold(value, "gzip") || equalFold(value, "x-gzip")):
		p.Coding = Gzip
	default:
		p.Coding = OtherCoding
	}
}

// trim removes spaces and tabs at both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n-- {
		text = text[:n-1]
	}
	return text
}

// equalFold reports whether text equals want without regard to case. want must be in lower case.
func equalFold(text []byte, want string) bool {
	if len(text) != len(want) {
		return false
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// isValue reports whether text has no control characters but tabs (RFC 9110, section 5.5).
func isValue(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// tokens are the characters of a field name (RFC 9110, section 5.6.2). hexDigits are the values of
// the hexadecimal digits plus one; 0 is no digit.
var tokens, hexDigits = tables()

func tables() (token [256]bool, digit [256]uint8) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		token[c] = true
	}
	for i, c := range []byte("0123456789abcdef") {
		digit[c] = uint8(i + 1)
	}
	for i, c := range []byte("ABCDEF") {
		digit[c] = uint8(i + 11)
	}
	return token, digit
}
