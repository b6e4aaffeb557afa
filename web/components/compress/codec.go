package compress

import (
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"weir/web"
)

// window is how far back zstd and br look, in bytes: an encoder takes a few times that in memory.
// RFC 9659 allows zstd 8 MB.
const (
	windowBits = 18
	window     = 1 << windowBits
)

// encoder is what the libraries' encoders have in common.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// codec is a content coding, with encoders that are used again and again.
type codec struct {
	name  string
	field web.Field
	bytes sync.Pool // of *writer, for bodies that are there whole
	flow  sync.Pool // of *writer, for streams: they can flush
}

// newCodec is the codec of a name, nil when there is none. Effort is 0 to 2.
func newCodec(name string, effort int) *codec {
	c := &codec{name: name, field: web.NewField("Content-Encoding", name)}
	var make func() encoder
	switch name {
	case "gzip":
		level := [...]int{1, 5, 9}[effort]
		make = func() encoder { e, _ := gzip.NewWriterLevel(nil, level); return e }
	case "deflate":
		level := [...]int{1, 5, 9}[effort]
		make = func() encoder { e, _ := zlib.NewWriterLevel(nil, level); return e }
	case "zstd":
		level := [...]zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression}[effort]
		make = func() encoder {
			e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
			return e
		}
	case "br":
		level := [...]int{2, 4, 7}[effort]
		c.bytes.New = pooled(&c.bytes, func() encoder { return brotli.NewWriterV2(nil, level) })
		level = [...]int{1, 4, 6}[effort]
		c.flow.New = pooled(&c.flow, func() encoder {
			return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: level, LGWin: windowBits})
		})
		return c
	default:
		return nil
	}
	c.flow.New = pooled(&c.flow, make)
	return c
}

// pooled makes what is in a pool.
func pooled(pool *sync.Pool, make func() encoder) func() any {
	return func() any { return &seat{encoder: make(), pool: pool} }
}

// seat is an encoder with what it writes to, which changes with each body.
type seat struct {
	encoder
	pool *sync.Pool // where it comes from, and goes back to
	next sink
}

type sink struct{ io.Writer }

// writer compresses what is written to it: a writer of [web.Transform]. It has an encoder until it
// is closed.
type writer struct{ *seat }

// writer is a writer before next; whole says that the body is there whole.
func (c *codec) writer(next io.Writer, whole bool) *writer {
	pool := &c.flow
	if whole && c.bytes.New != nil {
		pool = &c.bytes
	}
	s := pool.Get().(*seat)
	s.next.Writer = next
	s.Reset(&s.next)
	return &writer{s}
}

// Flush writes what the encoder holds back.
func (w *writer) Flush() error {
	if f, ok := w.encoder.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// Close writes the end.
func (w *writer) Close() error {
	err := w.encoder.Close()
	_ = w.CloseWithError(nil)
	return err
}

// CloseWithError lets go of the encoder. The end is not written then, or the client would take a
// part for the whole.
func (w *writer) CloseWithError(error) error {
	if s := w.seat; s != nil {
		w.seat, s.next.Writer = nil, nil
		s.pool.Put(s)
	}
	return nil
}
