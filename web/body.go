package web

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Body is the body of a response as a value: bytes, a range of a file, or a stream. The zero Body
// is empty. Nothing of it is read or run before the head is sent.
type Body struct {
	kind  bodyKind
	size  int64 // -1: not known
	data  []byte
	file  *os.File
	from  int64 // of the file
	same  func() error
	write func(io.Writer) error
	run   func(*Conn) error
	// what is let go of when the exchange is over, whether the body was sent or not; nil: nothing
	held *held
}

// held is what a body holds, the last first.
type held struct {
	io.Closer
	before *held
}

// holding is b with one more.
func (b Body) holding(c io.Closer) Body {
	b.held = &held{c, b.held}
	return b
}

// closeFunc is a function to be called by closing.
type closeFunc func()

// Close implements [io.Closer].
func (f closeFunc) Close() error { f(); return nil }

type bodyKind uint8

const (
	bytesBody bodyKind = iota
	fileBody
	streamBody
	rawBody // takes the connection over
)

// Bytes is a body of bytes, which must not be changed any more.
func Bytes(b []byte) Body { return Body{data: b, size: int64(len(b))} }

// String is a body of text.
func String(s string) Body { return Bytes([]byte(s)) }

// File is n bytes of a file from an offset on. The file is closed when the exchange is over. As
// long as no filter changes it, the kernel sends it.
func File(f *os.File, from, n int64) Body {
	return Body{kind: fileBody, file: f, from: from, size: n}.holding(f)
}

// Checked is b, a file, with a question that is asked before the last piece of it is sent, when it
// has been read: whether the file still is what it was. An error cuts the connection, so that the
// client sees that the body is not whole.
func (b Body) Checked(same func() error) Body {
	b.same = same
	return b
}

// Stream is a body that is written when it is sent; size is -1 when it is not known. Write is
// called once at most, by the goroutine of the request, so it may take its time. Its writer has
// Flush, which sends what was written so far through all filters to the client: see [Flush]. An
// error cuts the connection, so that the client sees that the body is not whole.
func Stream(size int64, write func(io.Writer) error) Body {
	return Body{kind: streamBody, size: size, write: write}
}

// Reader is a stream that is copied from r; r is closed when the exchange is over.
func Reader(r io.ReadCloser, size int64) Body {
	return Stream(size, func(w io.Writer) error { _, err := io.Copy(w, r); return err }).holding(r)
}

// Closing is b with something to be closed when the exchange is over, sent or not.
func (b Body) Closing(f func()) Body { return b.holding(closeFunc(f)) }

// madeOf says whether b holds what other holds: it is that body, or one made of it.
func (b Body) madeOf(other Body) bool {
	h := b.held
	for h != nil && h != other.held {
		h = h.before
	}
	return h == other.held
}

// Size is the length in bytes, -1 when it is not known.
func (b Body) Size() int64 {
	if b.kind == rawBody {
		return -1
	}
	return b.size
}

// Bytes are the body's bytes, and whether it is a body of bytes. They must not be changed.
func (b Body) Bytes() ([]byte, bool) { return b.data, b.kind == bytesBody }

// Streaming says whether the body is a stream: its bytes come when they come, and who changes them
// should let Flush through.
func (b Body) Streaming() bool { return b.kind == streamBody }

// Raw says whether the body is a connection that was taken over, which filters never see.
func (b Body) Raw() bool { return b.kind == rawBody }

// Errors of bodies.
var (
	errShrunk = errors.New("web: the file has become shorter while it was sent")
	errRaw    = errors.New("web: a connection that was taken over has no body to read")
)

// writeTo writes the whole body.
func (b Body) writeTo(w io.Writer) error {
	switch b.kind {
	case bytesBody:
		_, err := w.Write(b.data)
		return err
	case fileBody:
		if _, err := b.file.Seek(b.from, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(w, io.LimitReader(b.file, b.size))
		if err == nil && n < b.size {
			err = errShrunk
		}
		if err == nil && b.same != nil {
			err = b.same()
		}
		return err
	case streamBody:
		return b.write(w)
	}
	return errRaw
}

// part is a part of a body that has parts: one of bytes, or of a file.
func (b Body) part(from, n int64) Body {
	if b.kind == bytesBody {
		b.data = b.data[from : from+n]
	}
	b.from += from
	b.size = n
	return b
}

// seeker is the body as something to take ranges from, nil when it has no parts.
func (b Body) seeker() io.ReadSeeker {
	switch b.kind {
	case bytesBody:
		return bytes.NewReader(b.data)
	case fileBody:
		return checkedReader{io.NewSectionReader(b.file, b.from, b.size), b.same}
	}
	return nil
}

// checkedReader asks after each piece whether the file still is what it was.
type checkedReader struct {
	io.ReadSeeker
	same func() error
}

func (r checkedReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if r.same != nil {
		if changed := r.same(); changed != nil {
			return 0, changed
		}
	}
	return n, err
}

func (b *Body) close() {
	h := b.held
	*b = Body{} // first: what panics is not called again
	h.close()
}

func (h *held) close() {
	if h != nil {
		defer h.before.close() // even if this one panics
		_ = h.Close()
	}
}
