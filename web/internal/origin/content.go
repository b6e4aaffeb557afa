package origin

import (
	"io"
	"time"

	"weir/web/http1"
)

// Content is the rest of a content by length, after [Conn.Next] has returned what had arrived. An
// engine can have the kernel move it from socket to socket.
type Content struct {
	conn  *Conn
	limit time.Duration
	err   error
}

// Content returns the rest of the content, and its number of bytes: 0 if the content is not by
// length, or the kernel cannot move it. Data must arrive within limit, 0 is none.
func (c *Conn) Content(limit time.Duration) (rest *Content, n int64) {
	if c.response.Framing != http1.ByLength || c.raw == nil || c.start < len(c.in) {
		return nil, 0
	}
	return &Content{conn: c, limit: limit}, c.left
}

// Err returns why the content could not be read to its end; nil: it could, or its reader has
// stopped before.
func (r *Content) Err() error { return r.err }

// Left returns the number of bytes that were not read.
func (r *Content) Left() int64 { return r.conn.left }

// Read implements [io.Reader].
func (r *Content) Read(p []byte) (n int, err error) {
	c := r.conn
	if c.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), c.left)]
	err = c.within(r.limit, func() (err error) { n, err = c.conn.Read(p); return err })
	r.note(int64(n), err)
	return n, r.err
}

// ReadRaw implements [serve.SpliceSource], within the limit.
func (r *Content) ReadRaw(read func(fd uintptr) (done bool)) error {
	r.note(0, r.conn.within(r.limit, func() error { return r.conn.raw.Read(read) }))
	return r.err
}

// Moved implements [serve.SpliceSource].
func (r *Content) Moved(n int64) {
	var err error
	if n == 0 {
		err = io.EOF
	}
	r.note(n, err)
}

func (r *Content) note(n int64, err error) {
	r.conn.left -= n
	r.conn.ended = r.conn.left == 0
	if err != nil && r.err == nil {
		r.err = noEOF(err)
	}
}
