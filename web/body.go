package web

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Body is a response body as a value: bytes, a section of a file, or a stream. The zero Body is
// empty. Nothing of it is read or run before the head is sent.
type Body struct {
	kind   bodyKind
	size   int64 // in bytes; -1: not known
	data   []byte
	file   *os.File
	offset int64 // of the section in the file
	// see Checked; nil: no check
	verify      func() error
	writeStream func(io.Writer) error
	hijack      func(*Conn) error
	// Closed when the exchange is over, whether the body was sent or not. Nil: nothing to close.
	closers *closerList
}

// closerList is a list of what a body must close, last added first.
type closerList struct {
	io.Closer
	next *closerList
}

// withCloser returns b with one more closer.
func (b Body) withCloser(c io.Closer) Body {
	b.closers = &closerList{c, b.closers}
	return b
}

// closeFunc is a function as an io.Closer.
type closeFunc func()

// Close implements [io.Closer].
func (f closeFunc) Close() error { f(); return nil }

type bodyKind uint8

const (
	bytesBody bodyKind = iota
	fileBody
	streamBody
	hijackBody // not a body: takes over the connection
)

// Bytes returns a body of b, which must not be changed any more.
func Bytes(b []byte) Body { return Body{data: b, size: int64(len(b))} }

// String returns a body of text.
func String(s string) Body { return Bytes([]byte(s)) }

// File returns a body of n bytes of a file, starting at the offset from. The file is closed when
// the exchange is over. Unless a filter changes the body, the kernel sends it (sendfile).
func File(f *os.File, from, n int64) Body {
	return Body{kind: fileBody, file: f, offset: from, size: n}.withCloser(f)
}

// Checked returns a file body with a check that the file is unchanged. The check runs after the
// last bytes were read and before they are sent. On an error the connection is closed, so that the
// client sees the body as truncated.
func (b Body) Checked(same func() error) Body {
	b.verify = same
	return b
}

// Stream returns a body that is written while it is sent; size is -1 if it is not known. The
// request's goroutine calls write at most once, so write may block. Its writer has a method Flush,
// which sends what was written so far through all filters to the client: see [Flush]. On an error
// the connection is closed, so that the client sees the body as truncated.
func Stream(size int64, write func(io.Writer) error) Body {
	return Body{kind: streamBody, size: size, writeStream: write}
}

// Reader returns a stream that is copied from r; r is closed when the exchange is over.
func Reader(r io.ReadCloser, size int64) Body {
	return Stream(size, func(w io.Writer) error { _, err := io.Copy(w, r); return err }).withCloser(r)
}

// OnClose returns b with a function that is called when the exchange is over, whether the body was
// sent or not.
func (b Body) OnClose(f func()) Body { return b.withCloser(closeFunc(f)) }

// derivedFrom reports whether b is other or was made from it, so that b closes everything that
// other would.
func (b Body) derivedFrom(other Body) bool {
	h := b.closers
	for h != nil && h != other.closers {
		h = h.next
	}
	return h == other.closers
}

// Size returns the length in bytes, or -1 if it is not known.
func (b Body) Size() int64 {
	if b.kind == hijackBody {
		return -1
	}
	return b.size
}

// Bytes returns the body's bytes, and whether it is a body of bytes. The caller must not change
// them.
func (b Body) Bytes() ([]byte, bool) { return b.data, b.kind == bytesBody }

// IsStream reports whether the body is a stream. Its bytes may come with pauses, so a filter should
// implement Flush.
func (b Body) IsStream() bool { return b.kind == streamBody }

// IsHijack reports whether the connection is taken over. Filters never see such a body.
func (b Body) IsHijack() bool { return b.kind == hijackBody }

// Errors of bodies.
var (
	errShrunk   = errors.New("web: the file has become shorter while it was sent")
	errHijacked = errors.New("web: a connection that was taken over has no body to read")
)

// writeTo writes the whole body.
func (b Body) writeTo(w io.Writer) error {
	switch b.kind {
	case bytesBody:
		_, err := w.Write(b.data)
		return err
	case fileBody:
		if _, err := b.file.Seek(b.offset, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(w, io.LimitReader(b.file, b.size))
		if err == nil && n < b.size {
			err = errShrunk
		}
		if err == nil && b.verify != nil {
			err = b.verify()
		}
		return err
	case streamBody:
		return b.writeStream(w)
	}
	return errHijacked
}

// section returns n bytes of a body of bytes or of a file, starting at the offset from.
func (b Body) section(from, n int64) Body {
	if b.kind == bytesBody {
		b.data = b.data[from : from+n]
	}
	b.offset += from
	b.size = n
	return b
}

// readSeeker returns a reader for ranges of the body, or nil for a body without random access.
func (b Body) readSeeker() io.ReadSeeker {
	switch b.kind {
	case bytesBody:
		return bytes.NewReader(b.data)
	case fileBody:
		return checkedReader{io.NewSectionReader(b.file, b.offset, b.size), b.verify}
	}
	return nil
}

// checkedReader verifies after each read that the file is unchanged.
type checkedReader struct {
	io.ReadSeeker
	verify func() error
}

func (r checkedReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if r.verify != nil {
		if changed := r.verify(); changed != nil {
			return 0, changed
		}
	}
	return n, err
}

func (b *Body) close() {
	h := b.closers
	*b = Body{} // first, so that a closer that panics is not called again
	h.close()
}

func (h *closerList) close() {
	if h != nil {
		defer h.next.close() // even if this one panics
		_ = h.Close()
	}
}
