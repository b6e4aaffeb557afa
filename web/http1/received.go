package http1

import (
	"bytes"
	"slices"
)

// Received is the head of a response that a client has received. Fields is a slice of the bytes
// that it was read from.
type Received struct {
	Status  int    // 100 to 999
	Fields  []byte // the field lines, each with its CRLF
	Framing Framing
	Length  int64 // of the content, in bytes, if the framing is ByLength
	Close   bool  // the connection ends with the response
	// The Connection field has other options than close and keep-alive: they name fields that are
	// not passed on (RFC 9110, section 7.6.1).
	NamesFields bool
}

// ResponseHead returns the length of the response head at the start of b, or 0 if it is not
// complete. The first known bytes of b were there at an earlier call.
func ResponseHead(b []byte, known int) int {
	const end = "\r\n\r\n"
	from := max(0, known-len(end)+1)
	if i := bytes.Index(b[from:], []byte(end)); i >= 0 {
		return from + i + len(end)
	}
	return 0
}

// ParseResponse parses a whole response head, in answer to a request with this method (RFC 9112,
// sections 4 to 6). It rejects what two programs could read differently.
func ParseResponse(head []byte, method string) (Received, error) {
	r, minor, fields, ok := parseStatusLine(head)
	if !ok {
		return r, errStatusLine
	}
	r.Fields = fields[:len(fields)-len("\r\n")]
	f, err := parseFraming(r.Fields)
	if err != nil {
		return r, err
	}
	r.Close, r.NamesFields = f.close || minor == 0 && !f.keepAlive, f.namesFields
	x := Exchange{toHead: method == "HEAD"}
	switch {
	case !x.HasContent(r.Status):
		r.Framing = NoContent
	case f.hasCoding && (f.hasLength || minor == 0):
		return r, errResponseLengths
	case f.hasCoding:
		r.Framing = Chunked
	case f.hasLength:
		r.Framing, r.Length = ByLength, f.length
	default:
		r.Framing, r.Close = UntilClose, true
	}
	return r, nil
}

// parseStatusLine parses HTTP-version SP status-code SP [ reason-phrase ] CRLF. A line without the
// second space is accepted, too.
func parseStatusLine(head []byte) (r Received, minor int, rest []byte, ok bool) {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	const version = len("HTTP/1.1")
	if len(line) < version+len(" 200") || string(line[:version-1]) != "HTTP/1." || line[version-1]|1 != '1' || line[version] != ' ' {
		return r, 0, nil, false
	}
	for _, c := range line[version+1 : version+4] {
		if c < '0' || c > '9' {
			return r, 0, nil, false
		}
		r.Status = 10*r.Status + int(c-'0')
	}
	reason := line[version+4:]
	ok = r.Status >= 100 && (len(reason) == 0 || reason[0] == ' ') && textPrefix(reason) == len(reason)
	return r, int(line[version-1] - '0'), rest, ok
}

// receivedFraming is what the fields of a response say about its end.
type receivedFraming struct {
	hasLength, hasCoding bool
	length               int64
	close, keepAlive     bool
	namesFields          bool
}

// parseFraming checks field lines and reads those that frame the message.
func parseFraming(lines []byte) (f receivedFraming, err error) {
	for len(lines) > 0 {
		name := prefixOf(lines, tokenByte)
		if name == 0 || name == len(lines) || lines[name] != ':' {
			return f, errResponseField
		}
		end := name + 1 + textPrefix(lines[name+1:])
		if end+1 >= len(lines) || lines[end] != '\r' || lines[end+1] != '\n' {
			return f, errResponseField
		}
		if err := f.note(lines[:name], trimSpace(lines[name+1:end])); err != nil {
			return f, err
		}
		lines = lines[end+len("\r\n"):]
	}
	return f, nil
}

// note reads one field.
func (f *receivedFraming) note(name, value []byte) error {
	switch len(name) {
	case len("content-length"):
		if equalFold(name, "content-length") {
			return f.noteLength(value)
		}
	case len("transfer-encoding"):
		if !equalFold(name, "transfer-encoding") {
			break
		}
		if f.hasCoding || !equalFold(value, "chunked") {
			return errResponseCoding
		}
		f.hasCoding = true
	case len("connection"):
		if equalFold(name, "connection") {
			f.close = f.close || HasToken(value, "close")
			f.keepAlive = f.keepAlive || HasToken(value, "keep-alive")
			f.namesFields = f.namesFields || !equalFold(value, "close") && !equalFold(value, "keep-alive")
		}
	}
	return nil
}

// noteLength reads a Content-Length. The same one may occur again.
func (f *receivedFraming) noteLength(value []byte) error {
	digits := !slices.ContainsFunc(value, func(c byte) bool { return c < '0' || c > '9' })
	n := decimal(value)
	if !digits || len(value) == 0 || len(value) > 18 || f.hasLength && f.length != n {
		return errResponseLengths
	}
	f.hasLength, f.length = true, n
	return nil
}

// NewContentScanner returns a Scanner of the chunks and trailers of one message, to which its
// client, or its server, has sent the head. Between reports the end of the message.
func NewContentScanner(l Limits) Scanner {
	s := New(l)
	s.message = message{}
	s.startChunk()
	return s
}

// Trailers returns the trailer fields among framing, the bytes behind the last content of a chunked
// message: the end of the last chunk that has content, the line of the last chunk, the field lines,
// and an empty line.
func Trailers(framing []byte) []byte {
	_, fields, _ := bytes.Cut(bytes.TrimPrefix(framing, []byte("\r\n")), []byte("\r\n"))
	return bytes.TrimSuffix(fields, []byte("\r\n"))
}
