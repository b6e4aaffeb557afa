package conn

import (
	"io"
	"sync"
)

// source is a body in memory. It goes through net/http's ReadFrom to that of Conn, which writes it
// without a copy. Other readers use Read.
type source struct{ rest []byte }

func (s *source) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *source) WriteTo(w io.Writer) (int64, error) {
	if len(s.rest) == 0 {
		return 0, nil
	}
	n, err := w.Write(s.rest)
	s.rest = s.rest[n:]
	return int64(n), err
}

// copies holds the buffers of bodies that are neither in memory nor sent by the kernel.
var copies = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// plain hides ReadFrom, which would call io.Copy again.
type plain struct{ io.Writer }

// ReadFrom sends all of src, behind a head that is kept. net/http calls it for a body of known
// length.
func (c *Conn) ReadFrom(src io.Reader) (int64, error) {
	if s, ok := src.(*source); ok {
		n, err := c.writeJoined(s.rest)
		s.rest = s.rest[n:]
		return int64(n), err
	}
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	if c.tcp == nil || !seesArrivals {
		return c.copyFrom(src)
	}
	c.line.Writing()
	defer c.line.Written()
	if err := c.sendMore(); err != nil {
		return 0, c.noteWrite(err)
	}
	return c.tcp.ReadFrom(src)
}

func (c *Conn) copyFrom(src io.Reader) (int64, error) {
	buffer := copies.Get().(*[]byte)
	defer copies.Put(buffer)
	return io.CopyBuffer(plain{c}, src, *buffer)
}
