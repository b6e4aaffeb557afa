package http

import (
	"bytes"
	"compress/gzip"
	"io"

	"weir/lab/load/http/response"
)

const (
	maxVariants = 16       // encodings of the body that are remembered
	maxEncoded  = 64 << 20 // bytes of an encoded body
)

// bodies compares bodies with the expected one. It is not safe for concurrent use.
type bodies struct {
	want     []byte
	gzip     bool     // gzip was requested
	variants [][]byte // encodings whose decoded body was correct
}

// body is the part of a body that has been received.
type body struct {
	at    int64 // bytes received
	wrong bool
	kept  []byte // bytes received of an encoded body
}

func (b *body) reset() { b.at, b.wrong, b.kept = 0, false, b.kept[:0] }

// take compares the next piece of a body with the expected one. An encoded piece is kept for right.
func (s *bodies) take(b *body, piece []byte, coding response.Coding) {
	if coding == response.Gzip && s.gzip {
		if b.at += int64(len(piece)); b.at <= maxEncoded {
			b.kept = append(b.kept, piece...)
		}
		return
	}
	end := b.at + int64(len(piece))
	b.wrong = b.wrong || coding != response.Identity || end > int64(len(s.want)) || !bytes.Equal(piece, s.want[b.at:end])
	b.at = end
}

// right reports whether the complete body b is the expected one.
func (s *bodies) right(b *body, coding response.Coding) bool {
	if coding != response.Gzip || !s.gzip {
		return !b.wrong && b.at == int64(len(s.want))
	}
	for _, v := range s.variants {
		if bytes.Equal(v, b.kept) {
			return true
		}
	}
	if b.at > maxEncoded || !decodes(b.kept, s.want) {
		return false
	}
	if len(s.variants) < maxVariants {
		s.variants = append(s.variants, bytes.Clone(b.kept))
	}
	return true
}

// decodes reports whether encoded is want in gzip. It decodes at most one byte more than want has.
func decodes(encoded, want []byte) bool {
	z, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(io.LimitReader(z, int64(len(want))+1))
	return err == nil && bytes.Equal(got, want)
}

// learn sets the expected body from the first response.
func (s *bodies) learn(first []byte, coding response.Coding) error {
	if coding != response.Gzip {
		s.want = bytes.Clone(first)
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		return err
	}
	if s.want, err = io.ReadAll(z); err == nil {
		s.variants = append(s.variants, bytes.Clone(first))
	}
	return err
}
