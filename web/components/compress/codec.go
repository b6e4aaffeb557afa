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

// The window is how far back zstd and br search, in bytes: an encoder takes a few times that in
// memory. RFC 9659 allows zstd 8 MB.
const (
	windowBits = 18
	window     = 1 << windowBits
)

// encoder is the common part of the libraries' encoders.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// codec is a content coding with pools of encoders.
type codec struct {
	name       string
	field      web.Field
	wholePool  sync.Pool // of *pooledEncoder, for complete bodies; unset: streamPool serves them
	streamPool sync.Pool // of *pooledEncoder that can flush, for streams
}

// newCodec returns the codec of a name, or nil. effort is 0 to 2.
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
		c.wholePool.New = pooled(&c.wholePool, func() encoder { return brotli.NewWriterV2(nil, level) })
		level = [...]int{1, 4, 6}[effort]
		c.streamPool.New = pooled(&c.streamPool, func() encoder {
			return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: level, LGWin: windowBits})
		})
		return c
	default:
		return nil
	}
	c.streamPool.New = pooled(&c.streamPool, make)
	return c
}

// pooled returns the New function of a pool.
func pooled(pool *sync.Pool, make func() encoder) func() any {
	return func() any { return &pooledEncoder{encoder: make(), pool: pool} }
}

// pooledEncoder is an encoder with its output, which changes with each body.
type pooledEncoder struct {
	encoder
	pool *sync.Pool // where it belongs
	next sink
}

type sink struct{ io.Writer }

// writer compresses what is written to it; it implements the writer of a [web.Transform]. It holds
// an encoder until it is closed.
type writer struct{ *pooledEncoder }

// writer returns a writer in front of next; whole says that the body is complete in memory.
func (c *codec) writer(next io.Writer, whole bool) *writer {
	pool := &c.streamPool
	if whole && c.wholePool.New != nil {
		pool = &c.wholePool
	}
	s := pool.Get().(*pooledEncoder)
	s.next.Writer = next
	s.Reset(&s.next)
	return &writer{s}
}

// Flush writes the encoder's buffered data.
func (w *writer) Flush() error {
	if f, ok := w.encoder.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// Close writes the end of the coded body.
func (w *writer) Close() error {
	err := w.encoder.Close()
	_ = w.CloseWithError(nil)
	return err
}

// CloseWithError releases the encoder without writing the end, so that the client sees a truncated
// body as truncated.
func (w *writer) CloseWithError(error) error {
	if s := w.pooledEncoder; s != nil {
		w.pooledEncoder, s.next.Writer = nil, nil
		s.pool.Put(s)
	}
	return nil
}
