package origin

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/web/http1"
)

const (
	bufferSize = 16 << 10
	// maxJoined is the number of bytes of head and content that are sent by one write.
	maxJoined = 16 << 10
	// maxHead is the number of bytes that the head of a response, or its trailers, may have.
	maxHead = 1 << 20
	// noticeAfter is how long a wait lasts before it returns ErrSlow.
	noticeAfter = 20 * time.Millisecond
)

// buffers holds the input buffers of connections with an exchange in progress.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, bufferSize); return &b }}

// Conn is a connection to a server, for one exchange at a time. One goroutine at a time owns it;
// Interrupt is for any goroutine.
type Conn struct {
	pool      *Pool
	conn      net.Conn
	raw       syscall.RawConn // of conn; nil: it has none
	idleSince time.Time
	used      bool // an earlier exchange has used it

	notices  bool    // the next wait that takes long returns ErrSlow
	buffer   *[]byte // the memory of in; nil: none is borrowed
	in       []byte  // input from start on
	start    int
	began    bool // input has arrived
	response http1.Received
	fields   []Field       // see Fields
	left     int64         // of a content by length, bytes that were not read
	scanner  http1.Scanner // of a chunked content
	framing  []byte        // the bytes behind the last piece of a chunked content
	// why the rest of a chunked content cannot be read; nil: it can
	malformed error
	ended     bool // the content was read

	interrupted atomic.Bool
}

// ErrSlow is returned once in an exchange, by a wait that takes long. The caller may wait again.
var ErrSlow = errors.New("origin: the server takes long")

// Begin begins an exchange.
func (c *Conn) Begin() {
	c.buffer = buffers.Get().(*[]byte)
	c.in, c.start = (*c.buffer)[:0], 0
	c.notices, c.began, c.ended, c.malformed = true, false, false, nil
	c.framing = c.framing[:0]
}

// SkipNotice makes no later wait return ErrSlow. It reports whether none has.
func (c *Conn) SkipNotice() bool {
	none := c.notices
	c.notices = false
	return none
}

// WasUsed reports whether an earlier exchange has used the connection: its server may have closed
// it just now.
func (c *Conn) WasUsed() bool { return c.used }

// HasBegun reports whether a part of the response has arrived.
func (c *Conn) HasBegun() bool { return c.began }

// Room returns an empty buffer for the head of the request. It is used for the response when the
// request was sent.
func (c *Conn) Room() []byte { return c.in[:0] }

// Send sends a request. The server must take it within limit, 0 is none.
func (c *Conn) Send(head, content []byte, limit time.Duration) error {
	limited := limit > 0 && len(content) > 0
	if limited {
		if err := c.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
	}
	if len(head)+len(content) <= maxJoined {
		head, content = append(head, content...), nil
	}
	_, err := c.conn.Write(head)
	if err == nil && len(content) > 0 {
		_, err = c.conn.Write(content)
	}
	if err == nil && limited {
		err = c.conn.SetWriteDeadline(time.Time{})
	}
	return err
}

// ReadHead reads the head of the next response to a request with this method: an informational one,
// or the final one. It must be complete within limit, 0 is none. The result is valid until the next
// call.
func (c *Conn) ReadHead(method string, limit time.Duration) (*http1.Received, error) {
	var began time.Time // of the wait for the rest of the head
	for known := 0; ; {
		if n := http1.ResponseHead(c.in[c.start:], known); n > 0 {
			return c.parseHead(c.in[c.start:c.start+n], method)
		}
		if known = len(c.in) - c.start; known >= maxHead {
			return nil, errHeadLarge
		}
		left := limit
		switch {
		case limit == 0:
		case began.IsZero():
			began = time.Now()
		default:
			if left -= time.Since(began); left <= 0 {
				return nil, os.ErrDeadlineExceeded
			}
		}
		if err := c.fill(left); err != nil {
			return nil, noEOF(err)
		}
	}
}

// The reasons why a response is invalid.
var (
	errHeadLarge = errors.New("the head of the response is larger than 1 MiB")
	errTrailers  = errors.New("the trailers of the response are larger than 1 MiB")
)

// parseHead takes a head from the input.
func (c *Conn) parseHead(head []byte, method string) (_ *http1.Received, err error) {
	if c.response, err = http1.ParseResponse(head, method); err != nil {
		return nil, err
	}
	c.start += len(head)
	switch c.response.Framing {
	case http1.NoContent:
		c.ended = c.response.Status >= 200
	case http1.ByLength:
		c.left = c.response.Length
		c.ended = c.left == 0
	case http1.Chunked:
		c.scanner = http1.NewContentScanner(http1.Limits{HeadBytes: maxHead, Fields: 1000, ChunkLine: 4 << 10})
	}
	return &c.response, nil
}

// noEOF replaces the end of the input within a message.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Next returns the next piece of the content that has arrived. It is empty if none has: see Await.
// It is valid until the next call. Behind the last piece the error is io.EOF.
func (c *Conn) Next() ([]byte, error) {
	if c.ended {
		return nil, io.EOF
	}
	piece, err := c.take()
	if len(piece) == 0 && err == nil && c.ended {
		err = io.EOF
	}
	return piece, err
}

// Await waits for more of the response. Some must arrive within limit, 0 is none.
func (c *Conn) Await(limit time.Duration) error {
	err := c.fill(limit)
	if err == io.EOF && c.response.Framing == http1.UntilClose {
		c.ended = true
		return nil
	}
	return noEOF(err)
}

// take takes content from the input.
func (c *Conn) take() ([]byte, error) {
	rest := c.in[c.start:]
	switch c.response.Framing {
	case http1.ByLength:
		rest = rest[:min(int64(len(rest)), c.left)]
		c.left -= int64(len(rest))
		c.ended = c.left == 0
	case http1.Chunked:
		return c.takeChunked()
	}
	c.start += len(rest)
	return rest, nil
}

// takeChunked takes content from the input with the framing around it. If the framing behind the
// content is malformed, the next call returns the error.
func (c *Conn) takeChunked() (piece []byte, err error) {
	for c.start < len(c.in) && !c.ended && c.malformed == nil {
		n, content, v := c.scanner.Step(c.in[c.start:])
		part := c.in[c.start : c.start+n]
		c.start += n
		switch c.ended = c.scanner.Between(); {
		case v != nil:
			c.malformed = v
		case content:
			piece, c.framing = part, c.framing[:0]
		default:
			c.framing = append(c.framing, part...)
		}
		if len(c.framing) > maxHead {
			c.malformed = errTrailers
		}
		if len(piece) > 0 && !content {
			break
		}
	}
	if len(piece) == 0 {
		err = c.malformed
	}
	return piece, err
}

// Ended reports whether all content was read.
func (c *Conn) Ended() bool { return c.ended }

// Trailers returns the trailer field lines of a chunked response whose content was read.
func (c *Conn) Trailers() []byte {
	if c.response.Framing != http1.Chunked {
		return nil
	}
	return http1.Trailers(c.framing)
}

// End ends the exchange: the connection is kept if it can be used again, and closed otherwise.
func (c *Conn) End() {
	reusable := c.ended && !c.response.Close && c.start == len(c.in) && !c.interrupted.Load()
	if b := c.buffer; cap(c.in) == bufferSize {
		*b = c.in[:0]
		buffers.Put(b)
	}
	if len(c.response.Fields) > maxRemembered {
		c.fields = nil
	}
	c.buffer, c.in, c.used, c.response.Fields = nil, nil, true, nil
	if !reusable || !c.pool.keep(c) {
		_ = c.conn.Close()
	}
}

// Interrupt ends every wait for the server, the one in progress included. The connection is not
// used again.
func (c *Conn) Interrupt() {
	c.interrupted.Store(true)
	_ = c.conn.SetDeadline(past) // fails only if the connection has ended
}

// past is a deadline that ends a wait at once.
var past = time.Unix(1, 0)
