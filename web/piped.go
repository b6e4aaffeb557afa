package web

import (
	"io"
	"sync"
)

// Piped makes a transform in the style of the paper: f reads the body from r and writes what
// becomes of it to w, in a goroutine of its own. The goroutine ends when f does, which it must when
// reading gives an error. It costs a copy and two changes of goroutines a write; a writer that
// changes what passes is cheaper.
func Piped(f func(w io.Writer, r io.Reader) error) Transform {
	return func(next io.Writer) io.WriteCloser {
		r, w := io.Pipe()
		p := &piped{PipeWriter: w, out: &pipedWriter{next: next}, done: make(chan struct{})}
		go func() { // its owner is the exchange, which waits for it in Close and CloseWithError
			defer close(p.done)
			defer func() {
				p.panicked = recover()
				_ = r.CloseWithError(p.err) // who writes more is not left waiting
			}()
			p.err = f(p.out, r)
		}()
		return p
	}
}

// piped is the writer's end.
type piped struct {
	*io.PipeWriter
	out *pipedWriter
	// no values, closed by the goroutine at its end; what follows is readable then
	done     chan struct{}
	err      error // what f returned
	panicked any   // what f panicked with
}

// pipedWriter is what f writes to. Two goroutines come by it: f's, which writes, and the request's,
// when the stream is flushed.
type pipedWriter struct {
	// held while what is behind is at work; of several in a row, the first's is taken first
	mu     sync.Mutex
	next   io.Writer
	behind func() error // flushes what is behind; nil until the stream is flushed
}

// Write implements [io.Writer]. Once the stream was flushed, each write is: what f had in hand then
// would be late otherwise.
func (w *pipedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.next.Write(p)
	if err == nil && w.behind != nil {
		err = w.behind()
	}
	return n, err
}

// Flush is for f itself.
func (w *pipedWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Flush(w.next)
}

// flush is for the stream.
func (w *pipedWriter) flush(behind func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind = behind
	return behind()
}

// Close says that the body is whole, and waits until f has written the rest.
func (p *piped) Close() error {
	_ = p.PipeWriter.Close()
	return p.end()
}

// CloseWithError says that the body breaks off.
func (p *piped) CloseWithError(why error) error {
	_ = p.PipeWriter.CloseWithError(why)
	return p.end()
}

// end waits for f. A panic of f goes on in the goroutine of the request, where it costs this
// exchange alone.
func (p *piped) end() error {
	<-p.done
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.err
}
