package web

import (
	"io"
	"sync"
)

// Piped makes a transform in the style of the paper (see the package comment): f reads the body
// from r and writes the changed body to w, in a goroutine of its own. The goroutine ends when f
// returns, and f must return when reading fails. Each write costs a copy and two goroutine
// switches; a Transform of its own is cheaper.
func Piped(f func(w io.Writer, r io.Reader) error) Transform {
	return func(next io.Writer) io.WriteCloser {
		r, w := io.Pipe()
		p := &piped{PipeWriter: w, out: &pipedWriter{next: next}, done: make(chan struct{})}
		go func() { // owned by the exchange, which waits for it in Close and CloseWithError
			defer close(p.done)
			defer func() {
				p.panicValue = recover()
				_ = r.CloseWithError(p.err) // so that later writes fail instead of blocking
			}()
			p.err = f(p.out, r)
		}()
		return p
	}
}

// piped is the write end of the pipe to f.
type piped struct {
	*io.PipeWriter
	out *pipedWriter
	// Carries no values. The goroutine closes it at its end, after it has set err and panicValue.
	done       chan struct{}
	err        error // the error of f
	panicValue any   // the panic of f, nil if it returned
}

// pipedWriter is what f writes to. Two goroutines use it: f's, which writes, and the request's,
// when the stream is flushed.
type pipedWriter struct {
	// Held while the layers behind run. With several pipedWriters in a row, the first one's mu is
	// locked first.
	mu        sync.Mutex
	next      io.Writer
	flushNext func() error // flushes the layers behind; nil until the stream is flushed
}

// Write implements [io.Writer]. After the first flush of the stream every write is flushed: bytes
// that f was still processing during the flush would be delayed otherwise.
func (w *pipedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.next.Write(p)
	if err == nil && w.flushNext != nil {
		err = w.flushNext()
	}
	return n, err
}

// Flush is for f.
func (w *pipedWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Flush(w.next)
}

// flushStream is called when the stream is flushed.
func (w *pipedWriter) flushStream(behind func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushNext = behind
	return behind()
}

// Close signals the end of the body to f and waits until f has written the rest.
func (p *piped) Close() error {
	_ = p.PipeWriter.Close()
	return p.wait()
}

// CloseWithError signals to f that the body is truncated.
func (p *piped) CloseWithError(why error) error {
	_ = p.PipeWriter.CloseWithError(why)
	return p.wait()
}

// wait waits for f. It repeats a panic of f in the request's goroutine, where it ends this exchange
// only.
func (p *piped) wait() error {
	<-p.done
	if p.panicValue != nil {
		panic(p.panicValue)
	}
	return p.err
}
