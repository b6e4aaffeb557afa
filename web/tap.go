package web

import (
	"io"
	"iter"
	"maps"
)

// Fields are the names and values of the response's fields so far, in no order. The values must not
// be changed.
func (c *Conn) Fields() iter.Seq2[string, []string] { c.own(); return maps.All(c.header) }

// Tap has what is written of the answer's body seen as it is here: behind the filters before,
// before those behind. End is called once when the body has been written or has broken off, unless
// a panic ended it, and not at all when the body is not wanted (HEAD, 304). Tap does nothing and
// reports false for bytes and files that no filter changes, which can be had from [Conn.Body] as
// they are.
func (c *Conn) Tap(see func(p []byte), end func(whole bool)) bool {
	c.own()
	switch {
	case c.body.kind == rawBody:
		return false
	case len(c.transform) > 0:
		c.transform = append(c.transform, func(next io.Writer) io.WriteCloser { return &tapLayer{tap{next, see}, end} })
	case c.body.kind == streamBody:
		write := c.body.write
		c.body.write = func(w io.Writer) error {
			err := write(&tapStream{tap{w, see}})
			end(err == nil)
			return err
		}
	default:
		return false
	}
	return true
}

// tap shows what is written through it.
type tap struct {
	next io.Writer
	see  func([]byte)
}

// Write implements [io.Writer].
func (t *tap) Write(p []byte) (int, error) {
	n, err := t.next.Write(p)
	t.see(p[:n])
	return n, err
}

// tapStream is what a source's stream is written to.
type tapStream struct{ tap }

// Flush sends what was written so far.
func (t *tapStream) Flush() error { return Flush(t.next) }

// tapLayer stands among filters.
type tapLayer struct {
	tap
	end func(bool)
}

// Close implements [io.Closer].
func (t *tapLayer) Close() error { return t.CloseWithError(nil) }

// CloseWithError says that the body breaks off.
func (t *tapLayer) CloseWithError(why error) error {
	if end := t.end; end != nil {
		t.end = nil
		end(why == nil)
	}
	return nil
}
