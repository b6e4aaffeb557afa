package conn

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// joinLimit is the size of head and body, in bytes, up to which they are copied into one buffer. A
// copy costs as much as a writev of two (no difference was seen from 4 to 30 KB), but serves every
// kind of connection; more than this would only make the buffers larger. It is also a TLS record's
// largest.
const joinLimit = 16 << 10

// heads holds the buffers of heads, and of small bodies behind them. They are out only while one
// answer is written: an idle connection has none.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, joinLimit); return &b }}

// engine is what net/http's own ResponseWriter for HTTP/1 can do, and a wrapped one usually cannot.
type engine interface {
	http.ResponseWriter
	http.Flusher
	io.ReaderFrom
}

// Respond answers with this status, the fields in w.Header() and the body, of which it sets the
// Content-Length; nothing may have been written before, and body must stay as it is until Respond
// returns. For HEAD, and statuses that have no body, the fields alone are sent. Sent is how many
// bytes of the body were handed to the kernel (with another server's connection, to that server);
// fewer than all come with an error, that of the write: the client is gone, or too slow.
func (c *Conn) Respond(w http.ResponseWriter, status int, body []byte) (sent int64, err error) {
	w.Header()["Content-Length"] = c.length(int64(len(body)))
	e, ours := w.(engine)
	if c == nil || !ours {
		w.WriteHeader(status)
		if len(body) == 0 {
			return 0, nil
		}
		n, err := w.Write(body)
		return int64(n), bodyless(err)
	}
	c.src.rest = body
	sent, err = c.respond(e, status, &c.src, len(body) > 0)
	c.src.rest = nil
	return sent, err
}

// lastPiece is how much of a file is kept back until it is known to be as it was, in bytes.
const lastPiece = 1 << 10

// RespondFile is Respond for length bytes of f from offset, by sendfile where there is one. f must
// have no other reader during the call: its position moves. A file that turned out shorter gives
// io.ErrUnexpectedEOF, and the connection ends after what there was. Same, if there is one, is
// called when everything is sent but a last piece, and that piece is read: its error keeps it back,
// and is returned. For HEAD the file is read for nothing: write the fields alone.
func (c *Conn) RespondFile(w http.ResponseWriter, status int, f *os.File, offset, length int64, same func() error) (sent int64, err error) {
	w.Header()["Content-Length"] = c.length(length)
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	last := int64(0)
	if same != nil {
		last = min(length, lastPiece)
	}
	sent, err = c.sendFile(w, status, &io.LimitedReader{R: f, N: length - last})
	if err == nil && last > 0 && sent == length-last {
		var n int64
		n, err = c.sendLast(w, io.NewSectionReader(f, offset+sent, last), same)
		sent += n
	}
	return sent, complete(sent, length, err)
}

func (c *Conn) sendFile(w http.ResponseWriter, status int, body *io.LimitedReader) (int64, error) {
	if e, ours := w.(engine); c != nil && ours {
		return c.respond(e, status, body, body.N > 0)
	}
	w.WriteHeader(status)
	return io.Copy(w, body)
}

// sendLast sends what is left of a file if it is the same as it was.
func (c *Conn) sendLast(w http.ResponseWriter, rest *io.SectionReader, same func() error) (int64, error) {
	buffer := heads.Get().(*[]byte)
	defer heads.Put(buffer)
	p := (*buffer)[:rest.Size()]
	n, err := io.ReadFull(rest, p)
	if changed := same(); changed != nil {
		return 0, changed
	}
	if err != nil {
		return 0, err
	}
	if e, ours := w.(engine); c != nil && ours {
		c.src.rest = p[:n] // past net/http's buffers: what a Write leaves there has not gone out
		sent, err := e.ReadFrom(&c.src)
		c.src.rest = nil
		return sent, err
	}
	n, err = w.Write(p[:n])
	return int64(n), err
}

// length is a Content-Length field. The one before is kept: a connection often asks for the same
// again, and net/http has copied the fields by the next request.
func (c *Conn) length(n int64) []string {
	if c == nil {
		return []string{strconv.FormatInt(n, 10)}
	}
	if c.sized[0] == "" || c.size != n {
		c.size, c.sized[0] = n, strconv.FormatInt(n, 10)
	}
	return c.sized[:]
}

// complete turns a copy that ended early without an error into one.
func complete(n, want int64, err error) error {
	if err == nil && n < want {
		return io.ErrUnexpectedEOF
	}
	return bodyless(err)
}

// bodyless forgives what net/http says when a body is given to a status that has none.
func bodyless(err error) error {
	if err == http.ErrBodyNotAllowed {
		return nil
	}
	return err
}

// respond has net/http make the head, keeps it, and lets net/http pass src on: to ReadFrom, when
// there is a body to send. What no body took along is sent at the end.
func (c *Conn) respond(e engine, status int, src io.Reader, body bool) (n int64, err error) {
	// from here on nobody but us writes: a reader of the body might have sent 100 (Continue)
	e.WriteHeader(status)
	buffer := heads.Get().(*[]byte)
	c.held, c.hold = (*buffer)[:0], true
	e.Flush()
	c.hold = false
	if body {
		n, err = e.ReadFrom(src)
	}
	if len(c.held) > 0 {
		n = 0 // net/http has taken the body, and sends none: for HEAD
	}
	if _, left := c.take(); left != nil && err == nil {
		err = left
	}
	if cap(c.held) == cap(*buffer) { // a head that did not fit had it grow
		heads.Put(buffer)
	}
	c.held = nil
	return n, bodyless(err)
}

// take sends a head that is still held, alone.
func (c *Conn) take() (int, error) {
	if len(c.held) == 0 {
		return 0, nil
	}
	n, err := c.joined(nil)
	return n, err
}

// Write sends p, behind the head that is held if there is one; a head itself is kept.
func (c *Conn) Write(p []byte) (int, error) {
	if c.hold {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	if answer := c.explained(p); answer != nil {
		_, err := c.joined(answer)
		return len(p), err
	}
	return c.joined(p)
}

// joined sends what is held and p as one, and says how much of p went out.
func (c *Conn) joined(p []byte) (n int, err error) {
	if c.broken != nil {
		return 0, c.broken
	}
	head := len(c.held)
	switch {
	case head == 0:
		n, err = c.Conn.Write(p)
	case head+len(p) > joinLimit && c.tcp != nil && seesArrivals:
		var sent int64
		both := net.Buffers{c.held, p}
		c.line.Writing()
		sent, err = both.WriteTo(c.tcp)
		c.line.Written()
		n = int(sent)
	default:
		fits := min(len(p), max(0, joinLimit-head))
		c.held = append(c.held, p[:fits]...)
		n, err = c.Conn.Write(c.held)
		if err == nil && fits < len(p) {
			var more int
			more, err = c.Conn.Write(p[fits:])
			n += more
		}
	}
	c.held = c.held[:0]
	return max(0, n-head), c.failed(err)
}

// failed remembers the first write that failed and ends the connection: the client cannot know how
// much of a response is missing.
func (c *Conn) failed(err error) error {
	if err != nil && c.broken == nil && !c.line.hijacked.Load() {
		c.broken = err
		c.Conn.Close()
	}
	return err
}
