package conn

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// maxJoined is the size of head and body, in bytes, up to which they are copied into one buffer. A
// copy costs what a writev of two costs (there was no difference from 4 to 30 KB), but works with
// every kind of connection. It is also the largest TLS record.
const maxJoined = 16 << 10

// heads holds the buffers of heads, and of small bodies behind them. A connection has one only
// while it writes a response.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, maxJoined); return &b }}

// engine has the methods of net/http's own ResponseWriter for HTTP/1, which a wrapped one lacks.
type engine interface {
	http.ResponseWriter
	http.Flusher
	io.ReaderFrom
}

// Respond sends a response with this status, the fields in w.Header() and the body, and sets its
// Content-Length. Nothing may have been written before, and body must not change until Respond
// returns. For HEAD, and statuses without a body, only the fields are sent. sent is the number of
// bytes of the body that the kernel has taken (or the other server, on its connection). If not all
// were sent, the error is that of the write: the client has disconnected, or is too slow.
func (c *Conn) Respond(w http.ResponseWriter, status int, body []byte) (sent int64, err error) {
	w.Header()["Content-Length"] = c.lengthOf(int64(len(body)))
	e, ours := w.(engine)
	if c == nil || !ours {
		w.WriteHeader(status)
		if len(body) == 0 {
			return 0, nil
		}
		n, err := w.Write(body)
		return int64(n), ignoreNoBody(err)
	}
	c.body.rest = body
	sent, err = c.respond(e, status, &c.body, len(body) > 0)
	c.body.rest = nil
	return sent, err
}

// lastPiece is the number of bytes of a file that are kept back until the file is known to be
// unchanged.
const lastPiece = 1 << 10

// RespondFile is Respond for length bytes of f from offset, by sendfile if the system has it. It
// moves the position of f, which must have no other reader. If the file is shorter, the error is
// io.ErrUnexpectedEOF, and the connection ends. verify, if not nil, is called after the last piece
// was read and before it is sent: the piece is not sent if verify returns an error, and RespondFile
// returns that error. For HEAD, a caller should send only the fields instead.
func (c *Conn) RespondFile(w http.ResponseWriter, status int, f *os.File, offset, length int64, verify func() error) (sent int64, err error) {
	w.Header()["Content-Length"] = c.lengthOf(length)
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	last := int64(0)
	if verify != nil {
		last = min(length, lastPiece)
	}
	sent, err = c.sendFile(w, status, &io.LimitedReader{R: f, N: length - last})
	if err == nil && last > 0 && sent == length-last {
		var n int64
		n, err = c.sendLast(w, io.NewSectionReader(f, offset+sent, last), verify)
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

// sendLast sends the rest of a file if verify returns no error.
func (c *Conn) sendLast(w http.ResponseWriter, rest *io.SectionReader, verify func() error) (int64, error) {
	buffer := heads.Get().(*[]byte)
	defer heads.Put(buffer)
	p := (*buffer)[:rest.Size()]
	n, err := io.ReadFull(rest, p)
	if changed := verify(); changed != nil {
		return 0, changed
	}
	if err != nil {
		return 0, err
	}
	if e, ours := w.(engine); c != nil && ours {
		c.body.rest = p[:n] // not by Write, which leaves bytes in net/http's buffer
		sent, err := e.ReadFrom(&c.body)
		c.body.rest = nil
		return sent, err
	}
	n, err = w.Write(p[:n])
	return int64(n), err
}

// lengthOf returns the values of a Content-Length field. It keeps the latest: clients often request
// the same again, and net/http has copied the fields by then.
func (c *Conn) lengthOf(n int64) []string {
	if c == nil {
		return []string{strconv.FormatInt(n, 10)}
	}
	if c.lengthField[0] == "" || c.length != n {
		c.length, c.lengthField[0] = n, strconv.FormatInt(n, 10)
	}
	return c.lengthField[:]
}

// complete returns the error of a copy, also of one that has ended early without an error.
func complete(n, want int64, err error) error {
	if err == nil && n < want {
		return io.ErrUnexpectedEOF
	}
	return ignoreNoBody(err)
}

// ignoreNoBody ignores net/http's error for a body with a status that has none.
func ignoreNoBody(err error) error {
	if err == http.ErrBodyNotAllowed {
		return nil
	}
	return err
}

// respond makes net/http write the head, keeps that, and makes net/http pass src to ReadFrom if
// there is a body to send. A head that was not sent with a body is sent at the end.
func (c *Conn) respond(e engine, status int, src io.Reader, hasBody bool) (n int64, err error) {
	// from here on only this goroutine writes: a reader of the request's body cannot send 100
	// (Continue) any more
	e.WriteHeader(status)
	buffer := heads.Get().(*[]byte)
	c.head, c.keepsHead = (*buffer)[:0], true
	e.Flush()
	c.keepsHead = false
	if hasBody {
		n, err = e.ReadFrom(src)
	}
	if len(c.head) > 0 {
		n = 0 // net/http has taken the body and sends none, in response to HEAD
	}
	if _, left := c.sendHead(); left != nil && err == nil {
		err = left
	}
	if cap(c.head) == cap(*buffer) { // otherwise the head did not fit
		heads.Put(buffer)
	}
	c.head = nil
	return n, ignoreNoBody(err)
}

// sendHead sends a head that is still kept.
func (c *Conn) sendHead() (int, error) {
	if len(c.head) == 0 {
		return 0, nil
	}
	n, err := c.writeJoined(nil)
	return n, err
}

// Write implements [net.Conn]. It sends p behind a head that is kept, or keeps p if that is a head.
func (c *Conn) Write(p []byte) (int, error) {
	if c.keepsHead {
		c.head = append(c.head, p...)
		return len(p), nil
	}
	if response := c.explained(p); response != nil {
		_, err := c.writeJoined(response)
		return len(p), err
	}
	return c.writeJoined(p)
}

// writeJoined sends a head that is kept together with p. It returns how many bytes of p were sent.
func (c *Conn) writeJoined(p []byte) (n int, err error) {
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	head := len(c.head)
	switch {
	case head == 0:
		n, err = c.Conn.Write(p)
	case head+len(p) > maxJoined && c.tcp != nil && seesArrivals:
		var sent int64
		both := net.Buffers{c.head, p}
		c.line.Writing()
		sent, err = both.WriteTo(c.tcp)
		c.line.Written()
		n = int(sent)
	default:
		fits := min(len(p), max(0, maxJoined-head))
		c.head = append(c.head, p[:fits]...)
		n, err = c.Conn.Write(c.head)
		if err == nil && fits < len(p) {
			var more int
			more, err = c.Conn.Write(p[fits:])
			n += more
		}
	}
	c.head = c.head[:0]
	return max(0, n-head), c.noteWrite(err)
}

// noteWrite stores the first error of a write and closes the connection: the client cannot know how
// much of a response is missing.
func (c *Conn) noteWrite(err error) error {
	if err != nil && c.writeErr == nil && !c.line.hijacked.Load() {
		c.writeErr = err
		c.Conn.Close()
	}
	return err
}
