package basic

import (
	"io"
	"sync"

	"weir/web"
)

// Rot13 is a filter that rotates each of the 26 letters by 13: the paper's example of a filter. It
// is a writer before a writer, uses constant memory, and passes Flush on.
func Rot13() web.Component {
	transform := func(next io.Writer) io.WriteCloser { return &rot13Writer{next: next} }
	return named("rot13", web.Filter(func(*web.Conn) web.Transform { return transform }))
}

// Rot13Piped is Rot13 as in the paper: a goroutine copies a reader to a writer, behind an
// [io.Pipe]. See [web.Piped] for the cost.
func Rot13Piped() web.Component {
	transform := web.Piped(func(w io.Writer, r io.Reader) error {
		_, err := io.Copy(w, rot13Reader{r})
		return err
	})
	return named("rot13_piped", web.Filter(func(*web.Conn) web.Transform { return transform }))
}

// rot13Table maps each byte to its rotation.
var rot13Table = func() (table [256]byte) {
	for i := range table {
		switch b := byte(i); {
		case b|0x20 >= 'a' && b|0x20 <= 'm':
			table[i] = b + 13
		case b|0x20 >= 'n' && b|0x20 <= 'z':
			table[i] = b - 13
		default:
			table[i] = b
		}
	}
	return table
}()

// rotate writes the rotation of src to dst. Both have the same length, and may be the same slice.
func rotate(dst, src []byte) {
	dst = dst[:len(src)]
	for i, b := range src {
		dst[i] = rot13Table[b]
	}
}

// rot13Writer rotates its input and buffers nothing between writes.
type rot13Writer struct{ next io.Writer }

// rot13Buffers are reused between writes.
var rot13Buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Write implements [io.Writer]. It does not change p.
func (w *rot13Writer) Write(p []byte) (int, error) {
	piece := rot13Buffers.Get().(*[32 << 10]byte)
	defer rot13Buffers.Put(piece)
	for done := 0; done < len(p); {
		part := p[done:min(len(p), done+len(piece))]
		rotate(piece[:len(part)], part)
		n, err := w.next.Write(piece[:len(part)])
		done += n
		if err != nil {
			return done, err
		}
	}
	return len(p), nil
}

// Close implements [io.Closer].
func (w *rot13Writer) Close() error { return nil }

// rot13Reader rotates the bytes that it reads.
type rot13Reader struct{ from io.Reader }

// Read implements [io.Reader].
func (r rot13Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	rotate(p[:n], p[:n])
	return n, err
}
