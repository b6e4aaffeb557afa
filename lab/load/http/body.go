package http

import (
	"bytes"
	"compress/gzip"
	"io"

	"weir/lab/load/http/response"
)

const (
	maxVariants = 16       // encodings of one body that are remembered
	maxEncoded  = 64 << 20 // bytes of an encoded body
)

// bodies knows what every body must be. One goroutine at a time uses it.
type bodies struct {
	want     []byte
	gzip     bool     // was asked for
	variants [][]byte // encodings that were decoded and found right
}

// body is what has come of one.
type body struct {
	at    int64 // bytes
	wrong bool
	kept  []byte // of an encoded one
}

func (b *body) reset() { b.at, b.wrong, b.kept = 0, false, b.kept[:0] }

// take compares the next piece of a body, or keeps it if it is encoded.
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

// right says whether b, which is whole, is what it must be.
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

// decodes says whether encoded is want in gzip. It reads no further than want is long.
func decodes(encoded, want []byte) bool {
	z, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(io.LimitReader(z, int64(len(want))+1))
	return err == nil && bytes.Equal(got, want)
}

// learn makes what came first the body that is expected from now on.
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
