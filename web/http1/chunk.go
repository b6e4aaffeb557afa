package http1

// chunk is at the beginning of a chunk (RFC 9112, section 7.1).
func (s *Scanner) chunk() {
	s.at, s.room, s.letters, s.left = chunkSize, s.chunkLine, 0, 0
}

// chunkHead reads chunk-size [ chunk-ext ] CRLF.
func (s *Scanner) chunkHead(b []byte) (int, *Violation) {
	switch s.at {
	case chunkSize:
		return s.size(b)
	case chunkExt:
		return s.extension(b)
	}
	if b[0] != '\n' {
		return 0, errBareCR
	}
	if s.left > 0 {
		s.at = chunkData
		return 1, nil
	}
	s.at, s.trailer, s.fields, s.room = lineStart, true, 0, s.headBytes
	return 1, nil
}

// size reads 1*HEXDIG: "recipients MUST anticipate potentially large hexadecimal numerals and
// prevent parsing errors due to integer conversion overflows". Fifteen digits are enough, with
// leading zeros too.
func (s *Scanner) size(b []byte) (int, *Violation) {
	for i, c := range b {
		digit := hex(c)
		switch {
		case digit >= 0 && s.letters == 15:
			return i, errChunkLarge
		case digit >= 0:
			s.left = s.left<<4 | int64(digit)
			s.letters++
		case s.letters > 0 && (c == ';' || c == '\r'):
			s.at = chunkExt
			return i, nil
		case c == '\n':
			return i, errBareLF
		default:
			return i, errChunkSize
		}
	}
	return len(b), nil
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// extension passes over what nobody understands: "A recipient MUST ignore unrecognized chunk
// extensions".
func (s *Scanner) extension(b []byte) (int, *Violation) {
	n := text(b)
	switch {
	case n == len(b):
		return n, nil
	case b[n] == '\n':
		return n, errBareLF
	case b[n] != '\r':
		return n, errChunkExt
	}
	s.at = chunkEnd
	return n + 1, nil
}

// afterData reads the CRLF behind a chunk's data.
func (s *Scanner) afterData(c byte) (int, *Violation) {
	switch {
	case s.at == dataEnd && c == '\r':
		s.at = dataEndLF
	case s.at == dataEndLF && c == '\n':
		s.chunk()
	default:
		return 0, errChunkEnd
	}
	return 1, nil
}
