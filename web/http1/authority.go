package http1

// authorityState is the position in uri-host [ ":" port ] (RFC 9110, section 7.2, with the grammar
// of RFC 3986, section 3.2).
type authorityState uint8

const (
	authorityStart   authorityState = iota
	inHostName                      // in a name or an IPv4 address
	inEscape                        // behind a percent sign
	inEscapeEnd                     // behind the first digit of an escape
	literalStart                    // behind the bracket that opens an IP literal
	inLiteral                       // in an IP literal
	behindLiteral                   // behind the bracket that closes it
	inPort                          // in the port
	invalidAuthority                // something was none of these
)

// authority parses a host with an optional port, byte by byte. The zero value is at its start.
type authority struct {
	state     authorityState
	emptyHost bool
	port      uint32 // at most maxPort+1
}

const maxPort = 65535

// takePrefix parses the bytes of a name at the start of b, and returns their number.
func (a *authority) takePrefix(b []byte) int {
	if a.state > inHostName {
		return 0
	}
	n := prefixOf(b, nameByte)
	if n > 0 {
		a.state = inHostName
	}
	return n
}

// take parses the next byte. It reports whether the authority may still be valid.
func (a *authority) take(c byte) bool {
	switch a.state {
	case authorityStart:
		a.emptyHost = c == ':'
		if a.state = inHostName; c == '[' {
			a.state = literalStart
		} else {
			a.takeName(c)
		}
	case inHostName:
		a.takeName(c)
	case inEscape, inEscapeEnd:
		a.takeEscape(c)
	case literalStart, inLiteral:
		a.takeLiteral(c)
	case behindLiteral:
		if a.state = inPort; c != ':' {
			a.state = invalidAuthority
		}
	case inPort:
		a.takePort(c)
	}
	return a.state != invalidAuthority
}

func (a *authority) takeName(c byte) {
	switch {
	case c == ':':
		a.state = inPort
	case c == '%':
		a.state = inEscape
	case classes[c]&hostByte == 0 || c == '[' || c == ']':
		a.state = invalidAuthority
	}
}

func (a *authority) takeEscape(c byte) {
	switch {
	case hexDigit(c) < 0:
		a.state = invalidAuthority
	case a.state == inEscape:
		a.state = inEscapeEnd
	default:
		a.state = inHostName
	}
}

func (a *authority) takeLiteral(c byte) {
	switch {
	case c == ']' && a.state == inLiteral:
		a.state = behindLiteral
	case classes[c]&hostByte == 0 || c == '[' || c == ']' || c == '%':
		a.state = invalidAuthority
	default:
		a.state = inLiteral
	}
}

func (a *authority) takePort(c byte) {
	digit := uint32(c - '0')
	if digit > 9 {
		a.state = invalidAuthority
		return
	}
	a.port = min(10*a.port+digit, maxPort+1)
}

// isHost reports whether the bytes so far are a value of Host, which may be empty.
func (a *authority) isHost() bool {
	switch a.state {
	case authorityStart, inHostName, behindLiteral, inPort:
		return true
	}
	return false
}

// isTarget reports whether the bytes so far are a target of CONNECT: "A server MUST reject a
// CONNECT request that targets an empty or invalid port number" (RFC 9110, section 9.3.6).
func (a *authority) isTarget() bool {
	return a.state == inPort && !a.emptyHost && 0 < a.port && a.port <= maxPort
}
