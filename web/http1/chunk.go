package http1

// startChunk expects the first line of a chunk (RFC 9112, section 7.1).
func (s *Scanner) startChunk() {
	s.state, s.step, s.bytesLeft, s.wordLen, s.bodyLeft = inChunkSize, beforeValue, s.maxChunkLine, 0, 0
}

// readChunkLine reads chunk-size [ chunk-ext ] CRLF.
func (s *Scanner) readChunkLine(b []byte) (int, *Violation) {
	switch s.state {
	case inChunkSize:
		return s.readChunkSize(b)
	case inChunkExt:
		return s.readChunkExt(b)
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	if s.bodyLeft > 0 {
		s.state = inChunkData
		return 1, nil
	}
	s.state, s.inTrailer, s.fieldCount, s.bytesLeft = fieldStart, true, 0, s.maxHeadBytes
	return 1, nil
}

// readChunkSize reads 1*HEXDIG: "recipients MUST anticipate potentially large hexadecimal numerals
// and prevent parsing errors due to integer conversion overflows" (RFC 9112, section 7.1). It
// accepts at most fifteen digits, leading zeros included. White space may precede the semicolon of
// an extension (section 7.1.1, and RFC 9110, section 5.6.3).
func (s *Scanner) readChunkSize(b []byte) (int, *Violation) {
	for i, c := range b {
		digit := hexDigit(c)
		switch {
		case s.wordLen > 0 && (c == ';' || c == '\r' && s.step != afterValue):
			s.state = inChunkExt
			return i, nil
		case c == '\n':
			return i, errBareLF
		case s.wordLen > 0 && (c == ' ' || c == '\t'):
			s.step = afterValue
		case digit < 0 || s.step == afterValue:
			return i, errChunkSize
		case s.wordLen == 15:
			return i, errChunkLarge
		default:
			s.bodyLeft = s.bodyLeft<<4 | int64(digit)
			s.wordLen++
		}
	}
	return len(b), nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// readChunkExt skips chunk extensions: "A recipient MUST ignore unrecognized chunk extensions" (RFC
// 9112, section 7.1.1).
func (s *Scanner) readChunkExt(b []byte) (int, *Violation) {
	n := textPrefix(b)
	switch {
	case n == len(b):
		return n, nil
	case b[n] == '\n':
		return n, errBareLF
	case b[n] != '\r':
		return n, errChunkExt
	}
	s.state = chunkLineCR
	return n + 1, nil
}

// readChunkDataEnd reads the CRLF behind a chunk's data.
func (s *Scanner) readChunkDataEnd(c byte) (int, *Violation) {
	switch {
	case s.state == chunkDataEnd && c == '\r':
		s.state = chunkDataCR
	case s.state == chunkDataCR && c == '\n':
		s.startChunk()
	default:
		return 0, errChunkEnd
	}
	return 1, nil
}
