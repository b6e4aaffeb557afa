package web

import (
	"io"
	"iter"
	"maps"
)

// Fields returns the names and values of the response fields so far, in no order. The caller must
// not change the values.
func (c *Conn) Fields() iter.Seq2[string, []string] { c.assertOwned(); return maps.All(c.header) }

// Tap passes the bytes of the answer's body to observe as they are written, after the transforms
// registered so far and before later ones. It reports whether it does: not for bytes and files
// without transforms, which [Conn.Body] returns.
//
// onEnd is called once when the body was written or truncated, unless a panic ended it. It is not
// called if the body is not sent (HEAD, 304).
func (c *Conn) Tap(observe func(p []byte), onEnd func(whole bool)) bool {
	c.assertOwned()
	switch {
	case c.body.kind == hijackBody:
		return false
	case len(c.transforms) > 0:
		c.transforms = append(c.transforms, func(next io.Writer) io.WriteCloser { return &observedTransform{observer{next, observe}, onEnd} })
	case c.body.kind == streamBody:
		write := c.body.writeStream
		c.body.writeStream = func(w io.Writer) error {
			err := write(&observedStream{observer{w, observe}})
			onEnd(err == nil)
			return err
		}
	default:
		return false
	}
	return true
}

// observer passes written bytes to a function.
type observer struct {
	next    io.Writer
	observe func([]byte)
}

// Write implements [io.Writer].
func (t *observer) Write(p []byte) (int, error) {
	n, err := t.next.Write(p)
	t.observe(p[:n])
	return n, err
}

// observedStream is the writer of a stream that is observed.
type observedStream struct{ observer }

// Flush sends what was written so far.
func (t *observedStream) Flush() error { return Flush(t.next) }

// observedTransform is a layer among transforms that changes nothing.
type observedTransform struct {
	observer
	onEnd func(bool)
}

// Close implements [io.Closer].
func (t *observedTransform) Close() error { return t.CloseWithError(nil) }

// CloseWithError reports whether the body is whole: why is nil then.
func (t *observedTransform) CloseWithError(why error) error {
	if end := t.onEnd; end != nil {
		t.onEnd = nil
		end(why == nil)
	}
	return nil
}
