package response

import "bytes"

// Limits of the parts of a response other than the body.
const (
	MaxHead      = 64 << 10 // bytes of a head, and of trailers
	MaxChunkLine = 1 << 10  // bytes of a chunk's size and extensions
	MaxInterim   = 32       // 1xx responses before the final one
)

// Coding is the content coding of a body.
type Coding uint8

// The content codings.
const (
	Identity    Coding = iota // not encoded
	Gzip                      // gzip or x-gzip
	OtherCoding               // any other, or more than one
)

// Head is the part of a response's head that frames the message and encodes its body.
type Head struct {
	Status  int    // 200 to 999
	Minor   int    // minor version: 0 or 1
	Length  int64  // Content-Length in bytes; -1: none
	Chunked bool   // Transfer-Encoding is chunked
	Coding  Coding // of the body
	Close   bool   // the connection cannot be reused after this response
}

// state is the part of a response that a Parser expects next (RFC 9112, sections 4 to 7).
type state uint8

const (
	statusLine  state = iota
	fields            // header fields, up to the empty line
	fixedLength       // a body of left bytes
	untilClose        // a body that ends with the connection
	chunkSize         // the line with the size of a chunk
	chunkData         // left bytes of a chunk
	chunkEnd          // the CRLF after a chunk
	trailers          // trailer fields, up to the empty line
	done              // the response is complete
)

// Parser parses one response after another. Its zero value is ready for the response to a GET.
type Parser struct {
	Head // valid if HeadDone

	state        state
	answersHead  bool   // the request was HEAD
	keepAlive    bool   // a Connection field has keep-alive
	interimCount int    // 1xx responses so far
	bytesLeft    int64  // bytes of the body or chunk not yet received
	partSize     int    // bytes of the head, chunk line or trailers so far
	partial      []byte // the part of a line received so far
	err          error  // final; nil: none
	known        *Known // nil: no head is known
}

// Begin prepares p for the next response. head means that the request was HEAD.
func (p *Parser) Begin(head bool) {
	*p = Parser{answersHead: head, partial: p.partial[:0], known: p.known, Head: Head{Length: -1}}
}

// Started reports whether a byte of the response has been read.
func (p *Parser) Started() bool { return p.state != statusLine || p.partSize > 0 || p.interimCount > 0 }

// HeadDone reports whether Head is complete and that of the final response.
func (p *Parser) HeadDone() bool { return p.state > fields && p.err == nil }

// EndsWithConnection reports whether the body ends when the connection does.
func (p *Parser) EndsWithConnection() bool { return p.state == untilClose && p.err == nil }

// Done reports whether the response is complete.
func (p *Parser) Done() bool { return p.state == done && p.err == nil }

// Feed parses the next bytes. It returns the number of bytes consumed and a piece of the body,
// which is a slice of in. Call it until all bytes are consumed or the response is Done: the
// remaining bytes are not part of this response. An error is one of this package's, and final.
func (p *Parser) Feed(in []byte) (n int, body []byte, err error) {
	isHead := p.canKnow()
	if isHead {
		n = p.skipKnown(in)
		isHead = n == 0
	}
	for n < len(in) && p.state != done && p.err == nil {
		switch p.state {
		case fixedLength, chunkData, untilClose:
			body = p.takeBody(in[n:])
			return n + len(body), body, nil
		default:
			if n += p.takeLine(in[n:]); isHead && p.HeadDone() && p.interimCount == 0 {
				p.known.save(p, in[:n])
				isHead = false
			}
		}
	}
	return n, nil, p.err
}

// End ends the input when the connection is closed. It returns nil if the response is complete,
// else ErrEmpty, ErrTruncated, or the earlier error.
func (p *Parser) End() error {
	switch {
	case p.err != nil:
	case p.state == untilClose:
		p.state = done
	case p.state == done:
	case !p.Started():
		p.err = ErrEmpty
	default:
		p.err = ErrTruncated
	}
	return p.err
}

func (p *Parser) takeBody(in []byte) []byte {
	if p.state == untilClose {
		return in
	}
	if int64(len(in)) > p.bytesLeft {
		in = in[:p.bytesLeft]
	}
	if p.bytesLeft -= int64(len(in)); p.bytesLeft > 0 {
		return in
	}
	if p.state == fixedLength {
		p.state = done
	} else {
		p.state, p.partSize = chunkEnd, 0
	}
	return in
}

// takeLine consumes the rest of a line, or all of in if the line does not end in it.
func (p *Parser) takeLine(in []byte) int {
	i := bytes.IndexByte(in, '\n')
	n := i + 1
	if i < 0 {
		n = len(in)
	}
	line := in[:n]
	if p.partSize += n; p.partSize > p.limit() {
		p.err = ErrTooLong
		if p.state == chunkEnd {
			p.err = ErrChunk
		}
		return n
	}
	if i < 0 || len(p.partial) > 0 {
		p.partial = append(p.partial, line...)
		line = p.partial
	}
	if p.state == statusLine && !startsStatusLine(line) {
		p.err = ErrVersion
	} else if i >= 0 {
		p.endLine(line)
	}
	return n
}

// endLine parses a complete line with its CRLF.
func (p *Parser) endLine(line []byte) {
	p.partial = p.partial[:0]
	text, ok := bytes.CutSuffix(line, crlf)
	if !ok || bytes.IndexByte(text, '\r') >= 0 {
		p.err = ErrLine
		return
	}
	p.err = p.parseLine(text)
}

var crlf = []byte("\r\n")

func (p *Parser) limit() int {
	switch p.state {
	case chunkEnd:
		return len(crlf)
	case chunkSize:
		return MaxChunkLine
	}
	return MaxHead
}

// parseLine parses a line without its CRLF.
func (p *Parser) parseLine(text []byte) error {
	switch p.state {
	case statusLine:
		return p.readStatus(text)
	case fields:
		if len(text) == 0 {
			return p.headEnd()
		}
		return p.readField(text)
	case chunkSize:
		return p.readChunkSize(text)
	case chunkEnd:
		if len(text) > 0 {
			return ErrChunk
		}
		p.state, p.partSize = chunkSize, 0
	case trailers:
		if len(text) == 0 {
			p.state = done
			return nil
		}
		_, _, err := cutField(text)
		return err
	}
	return nil
}

// headEnd determines the framing of the body (RFC 9112, section 6.3).
func (p *Parser) headEnd() error {
	if p.Status < 200 {
		return p.endInterim()
	}
	p.Close = p.Close || p.Minor == 0 && !p.keepAlive
	switch {
	case p.Status == 204 && (p.Chunked || p.Length >= 0):
		return ErrForbidden
	case p.Chunked && (p.Length >= 0 || p.Minor == 0):
		return ErrFraming
	case p.answersHead || p.Status == 204 || p.Status == 304 || p.Length == 0:
		p.state = done
	case p.Chunked:
		p.state, p.partSize = chunkSize, 0
	case p.Length > 0:
		p.state, p.bytesLeft = fixedLength, p.Length
	default:
		p.state, p.Close = untilClose, true
	}
	return nil
}

// endInterim prepares for the response after a 1xx one.
func (p *Parser) endInterim() error {
	switch {
	case p.Status == 101:
		return ErrSwitch
	case p.Chunked || p.Length >= 0:
		return ErrForbidden
	case p.interimCount == MaxInterim:
		return ErrInterim
	}
	p.interimCount++
	p.state, p.partSize, p.keepAlive, p.Head = statusLine, 0, false, Head{Length: -1}
	return nil
}

// readChunkSize parses the size of a chunk (RFC 9112, section 7.1). Of extensions it checks only
// the characters.
func (p *Parser) readChunkSize(text []byte) error {
	var size int64
	i := 0
	for ; i < len(text); i++ {
		digit := hexDigits[text[i]]
		if digit == 0 {
			break
		}
		if size >= 1<<58 {
			return ErrChunk
		}
		size = size<<4 | int64(digit-1)
	}
	if rest := text[i:]; i == 0 || len(rest) > 0 && rest[0] != ';' || !isValue(rest) {
		return ErrChunk
	}
	p.state, p.bytesLeft, p.partSize = chunkData, size, 0
	if size == 0 {
		p.state = trailers
	}
	return nil
}
