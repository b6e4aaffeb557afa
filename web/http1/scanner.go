package http1

// Limits bound what a client may make a server hold. Zero means the default.
type Limits struct {
	HeadBytes int // request line and fields, or trailers, with all line ends; 64 KiB by default
	Fields    int // fields in a head, or in trailers; 100 by default
	ChunkLine int // a chunk's size and extensions with the line end, in bytes; 256 by default
}

// place is where in the stream the next byte stands.
type place uint8

const (
	between    place = iota // before the first byte of a message
	emptyLine               // behind the CR of an empty line after a POST
	method                  // in the request line …
	uri                     //
	version                 //
	versionEnd              // behind its CR
	lineStart               // where a field, or the end of the head, begins
	name                    //
	value                   //
	valueEnd                // behind a value's CR
	headEnd                 // behind the CR of the line that ends the head, or the trailers
	body                    // in a body with a Content-Length
	chunkSize               //
	chunkExt                //
	chunkEnd                // behind the CR of a chunk's line
	chunkData               //
	dataEnd                 // behind a chunk's data
	dataEndLF               // behind the CR there
)

// Scanner follows one connection. The zero value is not ready: use New. It is not for two
// goroutines at once.
type Scanner struct {
	headBytes, fieldsMax, chunkLine int32

	at       place
	message         // of the message that is being read
	wasPost  bool   // the message before was a POST
	turned   bool   // Scan stopped behind a message that may change the protocol
	requests uint64 // messages that were whole
}

// message is what is known of a message while it is read.
type message struct {
	room    int32 // bytes that the head, the chunk's line or the trailers may still have
	fields  int32
	kind    kind  // of the field whose value is read
	step    uint8 // how far within a version, or a value that matters
	word    [18]byte
	letters uint8 // of the method, target or name, in word; more than fit do not count
	is10    bool
	connect bool
	post    bool
	options bool
	upgrade bool
	trailer bool // the fields being read are trailers
	hosts   bool
	chunked bool
	lengths bool
	left    int64 // the length, then what is missing, of the body or the chunk
}

// New is a scanner at the beginning of a connection.
func New(l Limits) Scanner {
	or := func(n, otherwise int) int32 {
		if n <= 0 {
			return int32(otherwise)
		}
		return int32(min(n, 1<<30))
	}
	return Scanner{headBytes: or(l.HeadBytes, 64<<10), fieldsMax: or(l.Fields, 100), chunkLine: or(l.ChunkLine, 256)}
}

// Scan reads on in the client's bytes. b[:n] may go on to the engine. With a violation, b[n] is the
// byte that shows it: neither it nor anything behind it may go on, and Scan must not be called
// again. With none, n is less than len(b) only behind a request that may turn the connection into
// something else (CONNECT, or an Upgrade field): call Scan again with the rest if it stayed HTTP.
func (s *Scanner) Scan(b []byte) (n int, v *Violation) {
	s.turned = false
	for n < len(b) && !s.turned {
		part := b[n:]
		if s.bounded() && len(part) > int(s.room) {
			if part = part[:s.room]; s.room == 0 {
				return n, s.full()
			}
		}
		used, v := s.next(part)
		n += used
		if v != nil {
			return n, v
		}
	}
	return n, nil
}

// Between says that no byte of a further message was seen: the client is idle.
func (s *Scanner) Between() bool { return s.at == between }

// InBody says that the next byte belongs to a body; when neither between messages nor there, it is
// a head's.
func (s *Scanner) InBody() bool { return s.at >= body || s.trailer }

// Requests is how many requests were read whole, bodies included.
func (s *Scanner) Requests() uint64 { return s.requests }

// Refusal is what to put in the place of the offending byte and all behind it, so that whoever
// reads the stream refuses the message instead of waiting for the rest, or of taking what is there
// for a whole one.
func (s *Scanner) Refusal() string {
	switch s.at {
	case value, valueEnd:
		return "\r\n\x00\r\n\r\n" // a line without a colon
	case chunkSize, chunkExt, chunkEnd, dataEnd, dataEndLF:
		return "\r\x00\r\n" // a CR within a chunk's line, or no line end behind its data
	}
	return "\x00\r\n\r\n" // no method, target, version or name has a NUL
}

// bounded says whether the next byte counts against s.room.
func (s *Scanner) bounded() bool { return s.at > emptyLine && s.at != body && s.at < chunkData }

// full is what is wrong when there is no room left.
func (s *Scanner) full() *Violation {
	switch s.at {
	case uri:
		return errTargetLong
	case chunkSize, chunkExt, chunkEnd:
		return errChunkLine
	}
	return errHeadLarge
}

// next reads some of b, or changes its place. b is not empty, and within the limit.
func (s *Scanner) next(b []byte) (n int, v *Violation) {
	switch s.at {
	case body, chunkData:
		return s.data(b), nil
	case between, emptyLine:
		return s.begin(b[0])
	case dataEnd, dataEndLF:
		return s.afterData(b[0])
	case method, uri, version, versionEnd:
		n, v = s.requestLine(b)
	case chunkSize, chunkExt, chunkEnd:
		n, v = s.chunkHead(b)
	default:
		n, v = s.field(b)
	}
	s.room -= int32(n)
	return n, v
}

// begin reads the first byte of a message, or of what may stand before it.
func (s *Scanner) begin(c byte) (int, *Violation) {
	switch {
	case s.at == emptyLine && c != '\n':
		return 0, errBareCR
	case s.at == emptyLine:
		s.at, s.wasPost = between, false
		return 1, nil
	case c == '\r' && s.wasPost:
		s.at = emptyLine
		return 1, nil
	case c == '\r' || c == '\n':
		return 0, errEmptyLine
	}
	s.message = message{room: s.headBytes}
	s.at = method
	return 0, nil
}

// data passes over what is left of a body, or of a chunk.
func (s *Scanner) data(b []byte) int {
	n := int(min(int64(len(b)), s.left))
	s.left -= int64(n)
	switch {
	case s.left > 0:
	case s.at == body:
		s.end()
	default:
		s.at = dataEnd
	}
	return n
}

// end is behind a whole message.
func (s *Scanner) end() {
	s.at = between
	s.requests++
	s.wasPost = s.post
	s.turned = s.connect || s.upgrade
	s.trailer = false
}
