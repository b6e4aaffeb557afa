package web

import (
	"context"
	"io"
	"net/http"
	"slices"
)

// Transform makes a writer that changes what is written to it and writes the result to next. Its
// Close writes what is left and does not close next. A writer may have more methods:
//
//   - Flush() error writes buffered data to next, so that streams pass without delay;
//   - CloseWithError(error) is called instead of Close when the body is truncated: it releases what
//     the writer holds.
type Transform func(next io.Writer) io.WriteCloser

// output writes to the engine. It is the last writer of a body.
type output struct{ c *Conn }

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.c.w.Write(p)
	o.c.sentBytes += int64(n)
	return n, err
}

// ReadFrom implements [io.ReaderFrom], so that the engine can have the kernel send files.
func (o *output) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(o.c.w, r)
	o.c.sentBytes += n
	return n, err
}

// Flush sends what was written so far.
func (o *output) Flush() error { return http.NewResponseController(o.c.w).Flush() }

// sendThrough sends a body through transforms.
func (o *output) sendThrough(transforms []Transform, b Body) error {
	s := transformStack{layers: make([]io.WriteCloser, len(transforms)), end: o}
	whole := false
	defer func() {
		if !whole {
			s.abort()
		}
	}()
	var next io.Writer = o
	for i := len(transforms) - 1; i >= 0; i-- {
		s.layers[i] = transforms[i](next)
		next = s.layers[i]
	}
	if err := b.writeTo(&s); err != nil {
		return err
	}
	for _, l := range s.layers {
		if err := l.Close(); err != nil {
			return err
		}
	}
	whole = true
	return nil
}

// transformStack is the writers that a body passes through, in order.
type transformStack struct {
	layers []io.WriteCloser
	end    *output
}

// Write implements [io.Writer].
func (s *transformStack) Write(p []byte) (int, error) { return s.layers[0].Write(p) }

// Flush sends what was written so far through all layers to the client.
func (s *transformStack) Flush() error { return s.flushFrom(0) }

func (s *transformStack) flushFrom(first int) error {
	for i := first; i < len(s.layers); i++ {
		l := s.layers[i]
		if p, ok := l.(*piped); ok { // only its goroutine may use the layers behind
			return p.out.flushStream(func() error { return s.flushFrom(i + 1) })
		}
		if f, ok := l.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	return s.end.Flush()
}

// abort reports to the layers, in order, that the body is truncated. It reports to each of them
// even if one panics.
func (s *transformStack) abort() {
	for _, l := range slices.Backward(s.layers) {
		if a, ok := l.(interface{ CloseWithError(error) error }); ok {
			defer func() { _ = a.CloseWithError(io.ErrUnexpectedEOF) }()
		}
	}
}

// SetTrailer sets a trailer field (RFC 9110, section 6.5). w is the writer of a stream, which may
// call SetTrailer until it returns.
func SetTrailer(w io.Writer, name, value string) {
	switch w := w.(type) {
	case *output:
		w.c.SetTrailer(name, value)
	case *transformStack:
		w.end.c.SetTrailer(name, value)
	case *pipedWriter:
		SetTrailer(w.next, name, value)
	}
}

// ContextOf returns the context of the request whose response a stream writes to w, its writer. A
// stream that waits for something else than its client needs it: it is canceled when the client
// disconnects.
func ContextOf(w io.Writer) context.Context {
	switch w := w.(type) {
	case *output:
		return w.c.Context()
	case *transformStack:
		return w.end.c.Context()
	}
	return context.Background()
}

// Flush sends what was written so far to the writer of a stream through all filters to the client.
func Flush(w io.Writer) error {
	if f, ok := w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
