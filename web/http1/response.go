package http1

import (
	"bytes"
	"strconv"
	"strings"
)

// Exchange decides how the responses to one request are framed, and whether the connection goes on.
// Create it with NewExchange for each request.
type Exchange struct {
	minor     int  // of the client's version
	toHead    bool // the request was HEAD: no response has content
	toConnect bool // the request was CONNECT: a response 2xx has no content and no length

	// Close reports whether the connection must end after the response. It may be set before
	// AppendFraming is called.
	Close bool
	// Framing of the response's content; set by AppendFraming.
	Framing Framing
}

// Framing says how the end of a response's content is found (RFC 9112, section 6.3).
type Framing uint8

// The framings.
const (
	NoContent  Framing = iota // the response ends with its head
	ByLength                  // by Content-Length
	Chunked                   // by the last chunk
	UntilClose                // by the end of the connection
)

// NewExchange returns the state for the response to a request.
func NewExchange(r Request, o Options) Exchange {
	return Exchange{minor: r.Minor, toHead: string(r.Method) == "HEAD", toConnect: string(r.Method) == "CONNECT", Close: o.Close}
}

// HasContent reports whether a final response with this status has content (RFC 9110, section
// 6.4.1).
func (x *Exchange) HasContent(status int) bool {
	return !x.toHead && status >= 200 && status != 204 && status != 304 && !(x.toConnect && status < 300)
}

// AppendFields appends the status line of a final response and its fields. It leaves out names that
// are not tokens, and Connection, Content-Length and Transfer-Encoding, which AppendFraming decides
// about, in any case of their letters. In values, control characters become spaces. date is the
// value of the Date field unless there is one; empty: no field.
func (x *Exchange) AppendFields(b []byte, status int, fields map[string][]string, date string) []byte {
	b = appendStatusLine(b, status)
	if date != "" && fields["Date"] == nil {
		b = append(append(append(b, "Date: "...), date...), "\r\n"...)
	}
	for name, values := range fields {
		if !x.framesMessage(name) {
			b = appendField(b, name, values)
		}
	}
	return b
}

// AppendFraming appends the fields that frame a response, and the empty line that ends its head. It
// sets Framing and Close.
//
// length is the length of the content in bytes, -1 if it is not known. In response to HEAD, and
// with status 304, it is the length that a response with content would have. With trailers set,
// fields follow the content if the client's version has chunks. connection holds the values of a
// Connection field that the server has set.
func (x *Exchange) AppendFraming(b []byte, status int, length int64, trailers bool, connection []string) []byte {
	for _, list := range connection {
		x.Close = x.Close || HasToken([]byte(list), "close")
	}
	x.frame(status, length, trailers)
	switch {
	case x.Framing == Chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case length >= 0 && x.mayHaveLength(status):
		b = appendLength(b, length)
	}
	b = x.appendConnection(b, connection)
	return append(b, "\r\n"...)
}

// frame decides the framing of the content (RFC 9112, section 6.3). "A server MUST NOT send a
// response containing Transfer-Encoding unless the corresponding request indicates HTTP/1.1"
// (section 6.1): without a length, the end of the connection ends the content then.
func (x *Exchange) frame(status int, length int64, trailers bool) {
	switch {
	case !x.HasContent(status):
		x.Framing = NoContent
	case length >= 0 && !(trailers && x.minor > 0):
		x.Framing = ByLength
	case x.minor > 0:
		x.Framing = Chunked
	default:
		x.Framing, x.Close = UntilClose, true
	}
}

func appendLength(b []byte, n int64) []byte {
	return append(strconv.AppendInt(append(b, "Content-Length: "...), n, 10), "\r\n"...)
}

// mayHaveLength reports whether a response with this status may have a Content-Length (RFC 9110,
// section 8.6).
func (x *Exchange) mayHaveLength(status int) bool {
	return status >= 200 && status != 204 && !(x.toConnect && status < 300)
}

// framesMessage reports whether AppendFraming decides about a field.
func (x *Exchange) framesMessage(name string) bool {
	return isName(name, "connection") || framesContent(name) || x.minor == 0 && isName(name, "trailer")
}

// framesContent reports whether a field frames the content of its message.
func framesContent(name string) bool {
	return isName(name, "content-length") || isName(name, "transfer-encoding")
}

// isName reports whether a name is the one in lower case: field names are case-insensitive (RFC
// 9110, section 5.1).
func isName(name, lower string) bool {
	return len(name) == len(lower) && name[0]|0x20 == lower[0] && strings.EqualFold(name, lower)
}

// appendConnection appends the Connection field: "close" if the connection ends, "keep-alive" to an
// HTTP/1.0 client if it does not, and the options that the server has set (RFC 9112, section 9.6).
func (x *Exchange) appendConnection(b []byte, options []string) []byte {
	start := len(b)
	b = append(b, "Connection: "...)
	first := len(b)
	switch {
	case x.Close:
		b = append(b, "close"...)
	case x.minor == 0:
		b = append(b, "keep-alive"...)
	}
	for _, list := range options {
		if known := []byte(list); HasToken(known, "close") || HasToken(known, "keep-alive") {
			continue
		}
		if len(b) > first {
			b = append(b, ", "...)
		}
		b = appendValue(b, list)
	}
	if len(b) == first {
		return b[:start]
	}
	return append(b, "\r\n"...)
}

// AppendInformational appends an informational response (RFC 9110, section 15.2) with its fields.
// It appends nothing for a client of HTTP/1.0, which does not know such responses.
func (x *Exchange) AppendInformational(b []byte, status int, fields map[string][]string) []byte {
	if x.minor == 0 {
		return b
	}
	b = appendStatusLine(b, status)
	for name, values := range fields {
		if !framesContent(name) {
			b = appendField(b, name, values)
		}
	}
	return append(b, "\r\n"...)
}

// AppendChunk appends the line that starts a chunk of n bytes, n > 0 (RFC 9112, section 7.1). The
// data and ChunkEnd follow it.
func AppendChunk(b []byte, n int) []byte {
	return append(strconv.AppendUint(b, uint64(n), 16), "\r\n"...)
}

// ChunkEnd follows the data of a chunk.
const ChunkEnd = "\r\n"

// AppendLastChunk appends the last chunk, the trailer fields and the empty line that ends them (RFC
// 9112, section 7.1.2). Fields that frame a message are left out: they may not be trailers (RFC
// 9110, section 6.5.1).
func AppendLastChunk(b []byte, trailers map[string][]string) []byte {
	b = append(b, "0\r\n"...)
	for name, values := range trailers {
		if !isRoutingOrFraming(name) {
			b = appendField(b, name, values)
		}
	}
	return append(b, "\r\n"...)
}

// isRoutingOrFraming reports whether a field frames a message, or says who receives it.
func isRoutingOrFraming(name string) bool {
	return framesContent(name) || isName(name, "trailer") || isName(name, "host") || isName(name, "connection")
}

// appendStatusLine appends HTTP-version SP status-code SP reason-phrase CRLF (RFC 9112, section 4).
func appendStatusLine(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	if status >= 100 && status < 600 && reasons[status-100] != "" {
		return append(b, reasons[status-100]...)
	}
	b = strconv.AppendInt(b, int64(status), 10)
	return append(b, " \r\n"...)
}

// appendField appends a line for each value of a field. A name that is not a token is left out.
func appendField(b []byte, name string, values []string) []byte {
	if !isToken(name) {
		return b
	}
	for _, value := range values {
		b = append(append(b, name...), ": "...)
		b = append(appendValue(b, value), "\r\n"...)
	}
	return b
}

// appendValue appends a field's value, with spaces in place of control characters, so that no value
// can end its line (RFC 9110, section 5.5).
func appendValue(b []byte, value string) []byte {
	start := len(b)
	b = append(b, value...)
	for rest := b[start:]; ; {
		n := textPrefix(rest)
		if n == len(rest) {
			return b
		}
		rest[n] = ' '
		rest = rest[n+1:]
	}
}

func isToken(name string) bool {
	for i := range len(name) {
		if classes[name[i]]&tokenByte == 0 {
			return false
		}
	}
	return name != ""
}

// Rejection returns the state for the response to a request that cannot be read: the connection
// ends with it. start is what was received of the request: a response to HEAD has no content.
func Rejection(start []byte) Exchange {
	return Exchange{minor: 1, toHead: bytes.HasPrefix(start, []byte("HEAD ")), Close: true}
}
