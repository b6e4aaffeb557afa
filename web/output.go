package web

import (
	"io"
	"net/http"
	"slices"
)

// Transform makes a writer that changes what is written to it and writes it to next. Its Close ends
// the change and writes what is left, and leaves next open. A writer may have more:
//
//   - Flush() error writes what it holds back to next, so that streams pass;
//   - CloseWithError(error) is called in place of Close when the body breaks off: it lets go of
//     what the writer holds.
type Transform func(next io.Writer) io.WriteCloser

// output is the end of a body's way: the engine.
type output struct{ c *Conn }

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.c.w.Write(p)
	o.c.sent += int64(n)
	return n, err
}

// ReadFrom implements [io.ReaderFrom]: the engine can have the kernel send files.
func (o *output) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(o.c.w, r)
	o.c.sent += n
	return n, err
}

// Flush sends what was written so far.
func (o *output) Flush() error { return http.NewResponseController(o.c.w).Flush() }

// through sends a body through transforms.
func (o *output) through(transforms []Transform, b Body) error {
	s := stack{layers: make([]io.WriteCloser, len(transforms)), end: o}
	whole := false
	defer func() {
		if !whole {
			s.breakOff()
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

// stack is the writers of a body's way, the first before the others.
type stack struct {
	layers []io.WriteCloser
	end    *output
}

// Write implements [io.Writer].
func (s *stack) Write(p []byte) (int, error) { return s.layers[0].Write(p) }

// Flush sends what was written so far through all layers to the client.
func (s *stack) Flush() error { return s.flushFrom(0) }

func (s *stack) flushFrom(first int) error {
	for i := first; i < len(s.layers); i++ {
		l := s.layers[i]
		if p, ok := l.(*piped); ok { // what is behind is its goroutine's
			return p.out.flush(func() error { return s.flushFrom(i + 1) })
		}
		if f, ok := l.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	return s.end.Flush()
}

// breakOff tells the layers that no more comes, the first before the others, each even if one
// before it panics.
func (s *stack) breakOff() {
	for _, l := range slices.Backward(s.layers) {
		if a, ok := l.(interface{ CloseWithError(error) error }); ok {
			defer func() { _ = a.CloseWithError(io.ErrUnexpectedEOF) }()
		}
	}
}

// SetTrailer sets a field that follows the body (RFC 9110 section 6.5); w is the writer of a
// stream, which may call it until it returns.
func SetTrailer(w io.Writer, name, value string) {
	switch w := w.(type) {
	case *output:
		w.c.SetTrailer(name, value)
	case *stack:
		w.end.c.SetTrailer(name, value)
	case *pipedWriter:
		SetTrailer(w.next, name, value)
	}
}

// Flush sends what was written to the writer of a stream so far through all filters to the client.
func Flush(w io.Writer) error {
	if f, ok := w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
