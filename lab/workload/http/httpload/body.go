package httpload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash"
	"io"

	"weir/lab/workload/http/httpload/response"
)

const (
	maxVariants = 16        // encodings of the body that are remembered
	maxEncoded  = 64 << 20  // bytes of an encoded body
	maxLearned  = 256 << 20 // bytes of an expected body that is taken from the server, decoded
	// bytes that an encoded body may have beyond twice the expected one
	encodedExtra = 64 << 10
)

// bodies compares bodies with the expected one. It is not safe for concurrent use.
type bodies struct {
	want     []byte
	gzip     bool     // gzip was requested
	variants [][]byte // encodings whose decoded body was correct
}

// body is the part of a body that has been received.
type body struct {
	received int64 // bytes received
	wrong    bool
	encoded  []byte    // bytes received of an encoded body, or of one that is searched
	sum      hash.Hash // of the bytes received, if only they are hashed; nil: not needed yet
}

func (b *body) reset() {
	if b.received, b.wrong, b.encoded = 0, false, b.encoded[:0]; b.sum != nil {
		b.sum.Reset()
	}
}

// maxEncodedBody returns how many bytes of an encoded body are kept. A useful encoding is not longer
// than the body. A server that sends more must not use up the memory by many connections.
func (s *bodies) maxEncodedBody() int64 {
	return min(maxEncoded, 2*int64(len(s.want))+encodedExtra)
}

// feed compares the next piece of a body with the expected one. An encoded piece is kept for right.
func (s *bodies) feed(b *body, piece []byte, coding response.Coding) {
	if coding == response.Gzip && s.gzip {
		if b.received += int64(len(piece)); b.received <= s.maxEncodedBody() {
			b.encoded = append(b.encoded, piece...)
		}
		return
	}
	end := b.received + int64(len(piece))
	b.wrong = b.wrong || coding != response.Identity || end > int64(len(s.want)) || !bytes.Equal(piece, s.want[b.received:end])
	b.received = end
}

// isExpected reports whether the complete body b is the expected one.
func (s *bodies) isExpected(b *body, coding response.Coding) bool {
	if coding != response.Gzip || !s.gzip {
		return !b.wrong && b.received == int64(len(s.want))
	}
	for _, v := range s.variants {
		if bytes.Equal(v, b.encoded) {
			return true
		}
	}
	if b.received > s.maxEncodedBody() || !decodes(b.encoded, s.want) {
		return false
	}
	if len(s.variants) < maxVariants {
		s.variants = append(s.variants, bytes.Clone(b.encoded))
	}
	return true
}

// decodes reports whether encoded is want in gzip. It decodes little more than want has.
func decodes(encoded, want []byte) bool {
	got, err := gunzip(encoded, len(want))
	return err == nil && bytes.Equal(got, want)
}

// learn sets the expected body from the first response.
func (s *bodies) learn(first []byte, coding response.Coding) error {
	if coding != response.Gzip {
		s.want = bytes.Clone(first)
		return nil
	}
	want, err := gunzip(first, maxLearned)
	if err == nil {
		s.want, s.variants = want, append(s.variants, bytes.Clone(first))
	}
	return err
}

// gunzip decodes gzip to at most limit bytes.
func gunzip(encoded []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("it has more than %d bytes when it is decoded", limit)
	}
	return text, err
}
