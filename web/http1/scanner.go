package http1

// Limits bound what a client can make a server hold. Zero means the default.
type Limits struct {
	HeadBytes int // request line and fields, or trailers, with line ends; default: 64 KiB
	Fields    int // fields in a head, or in trailers; default: 100
	ChunkLine int // bytes of a chunk's size and extensions with the line end; default: 256
}

// state is the position of the next byte in the stream (RFC 9112, section 2.1).
type state uint8

const (
	betweenMessages state = iota // before the first byte of a message
	emptyLineCR                  // behind the CR of an empty line after a POST
	inMethod                     // in the request line: method
	inTarget                     // request target
	inVersion                    // HTTP version
	versionCR                    // behind the CR of the request line
	fieldStart                   // at the start of a field line, or behind the last one
	inName                       // in a field name
	inValue                      // in a field value
	valueCR                      // behind the CR of a field line
	endCR                        // behind the CR of the line that ends the head or the trailers
	inBody                       // in a body with a Content-Length
	inChunkSize                  // in the size of a chunk
	inChunkExt                   // in the extensions of a chunk
	chunkLineCR                  // behind the CR of a chunk's first line
	inChunkData                  // in the data of a chunk
	chunkDataEnd                 // behind the data of a chunk
	chunkDataCR                  // behind the CR that follows the data
)

// Scanner follows the client's side of one connection. Create it with New. It is not safe for
// concurrent use.
type Scanner struct {
	maxHeadBytes, maxFields, maxChunkLine int32

	state             state
	message                  // the message that is being read
	wasPost           bool   // the previous message was a POST
	mayChangeProtocol bool   // Scan stopped behind a CONNECT or Upgrade request
	requestCount      uint64 // messages that were complete
}

// message is what is known of a message while it is read.
type message struct {
	bytesLeft  int32 // bytes that the head, the chunk line or the trailers may still have
	fieldCount int32
	fieldKind  fieldKind // of the field whose value is being read
	step       uint8     // progress within the version, or within a framing field's value
	word       [18]byte
	wordLen    uint8 // used bytes of word: the start of the method, target or name
	is10       bool
	isConnect  bool
	isPost     bool
	isOptions  bool
	hasUpgrade bool
	inTrailer  bool // the fields being read are trailers
	hasHost    bool
	hasCoding  bool
	hasCodings bool // the Transfer-Encoding is a list
	hasLength  bool
	authority  authority // that of a CONNECT, then the Host
	bodyLeft   int64     // content length, then the bytes of the body or chunk still to come
}

// New returns a scanner at the start of a connection.
func New(l Limits) Scanner {
	or := func(n, otherwise int) int32 {
		if n <= 0 {
			return int32(otherwise)
		}
		return int32(min(n, 1<<30))
	}
	return Scanner{maxHeadBytes: or(l.HeadBytes, 64<<10), maxFields: or(l.Fields, 100), maxChunkLine: or(l.ChunkLine, 256)}
}

// Scan reads further bytes of the client. b[:n] may be forwarded to the engine.
//
// With a violation, b[n] is the first offending byte: neither it nor anything behind it may be
// forwarded, and Scan must not be called again.
//
// Without one, n < len(b) only behind a request that may change the protocol (CONNECT, or an
// Upgrade field). Call Scan again with the rest if the connection stays HTTP.
func (s *Scanner) Scan(b []byte) (n int, v *Violation) {
	s.mayChangeProtocol = false
	for n < len(b) && !s.mayChangeProtocol {
		used, _, v := s.Step(b[n:])
		n += used
		if v != nil {
			return n, v
		}
	}
	return n, nil
}

// Step reads the next part of b, which is not empty: either content or framing. content says which.
// b[:n] is that part; it ends at the latest where a head, content or a message ends. Call Step
// again with the rest. With a violation, b[n] is the first offending byte, and Step must not be
// called again.
func (s *Scanner) Step(b []byte) (n int, content bool, v *Violation) {
	if s.state == inBody || s.state == inChunkData {
		return s.skipData(b), true, nil
	}
	inHead := !s.InBody()
	for n < len(b) {
		part := b[n:]
		if s.isLimited() && len(part) > int(s.bytesLeft) {
			if part = part[:s.bytesLeft]; s.bytesLeft == 0 {
				return n, false, s.limitViolation()
			}
		}
		used, v := s.readNext(part)
		n += used
		if v != nil {
			return n, false, v
		}
		if s.state == betweenMessages || s.state == inChunkData || inHead && s.InBody() {
			break
		}
	}
	return n, false, nil
}

// RepeatHead is Step for a whole head that is equal to one that this scanner, or another one with
// the same limits, has accepted, of a GET or HEAD request without content. The client must be idle.
func (s *Scanner) RepeatHead() {
	s.message = message{}
	s.endMessage()
}

// Between reports whether the client is idle: the scanner has seen no byte of a further message.
func (s *Scanner) Between() bool { return s.state == betweenMessages }

// InBody reports whether the next byte belongs to a body or to trailers.
func (s *Scanner) InBody() bool { return s.state >= inBody || s.inTrailer }

// Requests returns the number of complete requests, bodies included.
func (s *Scanner) Requests() uint64 { return s.requestCount }

// Refusal returns bytes to forward in place of the offending byte and everything behind it. They
// make any reader reject the message. Without them it would wait for the rest, or take the
// truncated message for a complete one.
func (s *Scanner) Refusal() string {
	switch s.state {
	case inValue, valueCR:
		return "\r\n\x00\r\n\r\n" // a line without a colon
	case inChunkSize, inChunkExt, chunkLineCR, chunkDataEnd, chunkDataCR:
		return "\r\x00\r\n" // a CR within a chunk line, or no CRLF behind its data
	}
	return "\x00\r\n\r\n" // no method, target, version or name may have a NUL
}

// isLimited reports whether the next byte counts against bytesLeft.
func (s *Scanner) isLimited() bool {
	return s.state > emptyLineCR && s.state != inBody && s.state < inChunkData
}

// limitViolation returns the violation for a message that exceeds bytesLeft.
func (s *Scanner) limitViolation() *Violation {
	switch s.state {
	case inTarget:
		return errTargetLong
	case inChunkSize, inChunkExt, chunkLineCR:
		return errChunkLine
	}
	return errHeadLarge
}

// readNext reads some bytes of b, or changes state. b is not empty and within the limit.
func (s *Scanner) readNext(b []byte) (n int, v *Violation) {
	switch s.state {
	case inBody, inChunkData:
		return s.skipData(b), nil
	case betweenMessages, emptyLineCR:
		return s.startMessage(b[0])
	case chunkDataEnd, chunkDataCR:
		return s.readChunkDataEnd(b[0])
	case inMethod, inTarget, inVersion, versionCR:
		n, v = s.readRequestLine(b)
	case inChunkSize, inChunkExt, chunkLineCR:
		n, v = s.readChunkLine(b)
	default:
		n, v = s.readField(b)
	}
	s.bytesLeft -= int32(n)
	return n, v
}

// startMessage reads the first byte of a message, or an empty line before it.
func (s *Scanner) startMessage(c byte) (int, *Violation) {
	switch {
	case s.state == emptyLineCR && c != '\n':
		return 0, errBareCR
	case s.state == emptyLineCR:
		s.state, s.wasPost = betweenMessages, false
		return 1, nil
	case c == '\r' && s.wasPost:
		s.state = emptyLineCR
		return 1, nil
	case c == '\r' || c == '\n':
		return 0, errEmptyLine
	}
	s.message = message{bytesLeft: s.maxHeadBytes}
	s.state = inMethod
	return 0, nil
}

// skipData skips bytes of a body or of a chunk.
func (s *Scanner) skipData(b []byte) int {
	n := int(min(int64(len(b)), s.bodyLeft))
	s.bodyLeft -= int64(n)
	switch {
	case s.bodyLeft > 0:
	case s.state == inBody:
		s.endMessage()
	default:
		s.state = chunkDataEnd
	}
	return n
}

// endMessage completes a message.
func (s *Scanner) endMessage() {
	s.state = betweenMessages
	s.requestCount++
	s.wasPost = s.isPost
	s.mayChangeProtocol = s.isConnect || s.hasUpgrade
	s.inTrailer = false
}
