package web

import "io"

// Piped makes a transform in the style of the paper: f reads the body from r and writes what becomes of it to w, in a goroutine of
// its own. The goroutine ends when f does, which it must when reading gives an error. It costs a
// copy and two changes of goroutines a write; a writer that changes what passes is cheaper.
func Piped(f func(w io.Writer, r io.Reader) error) Transform {
	return func(next io.Writer) io.WriteCloser {
		r, w := io.Pipe()
		p := &piped{PipeWriter: w, done: make(chan error, 1)}
		go func() { // its owner is the exchange, which waits for it in Close and CloseWithError
			err := f(next, r)
			_ = r.CloseWithError(err) // who writes more is not left waiting
			p.done <- err
		}()
		return p
	}
}

// piped is the writer's end.
type piped struct {
	*io.PipeWriter
	done chan error // from the goroutine -> to who closes; capacity 1, never closed
}

// Close says that the body is whole, and waits until f has written the rest.
func (p *piped) Close() error {
	_ = p.PipeWriter.Close()
	return <-p.done
}

// CloseWithError says that the body breaks off.
func (p *piped) CloseWithError(why error) error {
	_ = p.PipeWriter.CloseWithError(why)
	return <-p.done
}
