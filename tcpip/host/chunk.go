package host

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// After an answer, the bytes of a connection follow as chunks, independently in each direction. A
// chunk is a byte for its kind, three bytes for its length, and so many bytes.
//
//	d  data of the connection; for UDP, one datagram
//	e  the end; a text says what went wrong, if anything did
const (
	chunkData   = 'd'
	chunkEnd    = 'e'
	chunkHeader = 4
	maxChunk    = 64 << 10 // bytes of a chunk
)

var errChunk = errors.New("host: malformed chunk on the control socket")

// chunkConn is a connection that carries chunks. One goroutine reads, any number write.
type chunkConn struct {
	net.Conn
	r         *bufio.Reader // reads Conn
	chunkLeft int           // unread bytes of the current chunk
	datagrams bool          // a chunk is one datagram: Read discards what does not fit
	readErr   error         // set at the end: io.EOF, or what went wrong

	mu         sync.Mutex // guards the fields below, and writing
	buffer     []byte
	writeEnded bool
}

func newChunkConn(c net.Conn, r *bufio.Reader, network string) *chunkConn {
	return &chunkConn{Conn: c, r: r, datagrams: network == "udp"}
}

// Read implements net.Conn. After an expired deadline it continues where it was.
func (c *chunkConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.chunkLeft == 0 {
		empty, err := c.nextChunk()
		if err != nil || empty {
			return 0, err
		}
	}
	n, err := c.r.Read(p[:min(len(p), c.chunkLeft)])
	c.chunkLeft -= n
	if c.datagrams && err == nil {
		n, err = c.readDatagram(p, n)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readDatagram reads the rest of a datagram, of which p has n bytes.
func (c *chunkConn) readDatagram(p []byte, n int) (int, error) {
	more := min(len(p)-n, c.chunkLeft)
	if _, err := io.ReadFull(c.r, p[n:n+more]); err != nil {
		return n, err
	}
	_, err := c.r.Discard(c.chunkLeft - more)
	c.chunkLeft = 0
	return n + more, err
}

// nextChunk reads a chunk's header. empty is true for an empty datagram.
func (c *chunkConn) nextChunk() (empty bool, err error) {
	for c.readErr == nil {
		h, err := c.r.Peek(chunkHeader)
		if err != nil {
			if err == io.EOF {
				// the other end closed without an end chunk
				err = io.ErrUnexpectedEOF
			}
			return false, err
		}
		kind, n := h[0], int(binary.BigEndian.Uint32(h)&0xffffff)
		switch {
		case n > maxChunk || kind != chunkData && kind != chunkEnd:
			return false, errChunk
		case kind == chunkData:
			c.r.Discard(chunkHeader) //nolint:errcheck // it was peeked
			if c.chunkLeft = n; n > 0 || c.datagrams {
				return n == 0, nil
			}
		default:
			h, err := c.r.Peek(chunkHeader + n)
			if err != nil {
				return false, err
			}
			if c.readErr = io.EOF; n > 0 {
				c.readErr = errors.New(string(h[chunkHeader:]))
			}
			c.r.Discard(chunkHeader + n) //nolint:errcheck // it was peeked
		}
	}
	return false, c.readErr
}

// Write implements net.Conn.
func (c *chunkConn) Write(p []byte) (n int, err error) {
	for first := true; first || n < len(p); first = false {
		k := min(len(p)-n, maxChunk)
		if c.datagrams && k < len(p) {
			return 0, fmt.Errorf("host: a datagram of %d bytes: send at most %d", len(p), maxChunk)
		}
		if err := c.writeChunk(chunkData, p[n:n+k]); err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// CloseWrite sends the end chunk.
func (c *chunkConn) CloseWrite() error { return c.endWrite(nil) }

// endWrite sends the end chunk with the text of why, if it is not nil.
func (c *chunkConn) endWrite(why error) error {
	text := ""
	if why != nil {
		text = why.Error()
	}
	return c.writeChunk(chunkEnd, []byte(text[:min(len(text), 1000)]))
}

func (c *chunkConn) writeChunk(kind byte, p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeEnded {
		return net.ErrClosed
	}
	c.writeEnded = kind == chunkEnd
	c.buffer = binary.BigEndian.AppendUint32(c.buffer[:0], uint32(kind)<<24|uint32(len(p)))
	c.buffer = append(c.buffer, p...)
	_, err := c.Conn.Write(c.buffer)
	return err
}
