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

// Behind an answer the bytes of a connection follow as chunks, in each direction for itself: a byte
// that says which kind, three for the length, and so many bytes.
//
//	d  what the connection carries; of datagrams, one
//	e  there will be no more: with a text, because that is what went wrong
const (
	chunkData   = 'd'
	chunkEnd    = 'e'
	chunkHeader = 4
	chunkMost   = 64 << 10 // bytes in one
)

var errChunk = errors.New("host: the control socket carries what is no chunk")

// chunks is a connection of chunks. One goroutine reads, any number write.
type chunks struct {
	net.Conn
	r     *bufio.Reader // of Conn
	left  int           // of the chunk that is being read
	whole bool          // a chunk is one datagram: what a Read has no room for is lost
	end   error         // what the reader was told: io.EOF, or what went wrong

	mu     sync.Mutex // guards what is written
	buffer []byte
	ended  bool
}

func newChunks(c net.Conn, r *bufio.Reader, network string) *chunks {
	return &chunks{Conn: c, r: r, whole: network == "udp"}
}

// Read implements net.Conn. After a deadline that has passed it goes on where it was.
func (c *chunks) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.left == 0 {
		empty, err := c.next()
		if err != nil || empty {
			return 0, err
		}
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	if c.whole && err == nil {
		n, err = c.datagram(p, n)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// datagram reads the rest of one, of which n bytes are in p.
func (c *chunks) datagram(p []byte, n int) (int, error) {
	more := min(len(p)-n, c.left)
	if _, err := io.ReadFull(c.r, p[n:n+more]); err != nil {
		return n, err
	}
	_, err := c.r.Discard(c.left - more)
	c.left = 0
	return n + more, err
}

// next reads a chunk's header. An empty datagram is one too.
func (c *chunks) next() (empty bool, err error) {
	for c.end == nil {
		h, err := c.r.Peek(chunkHeader)
		if err != nil {
			if err == io.EOF {
				// the other end is gone, and has not said that this was all
				err = io.ErrUnexpectedEOF
			}
			return false, err
		}
		kind, n := h[0], int(binary.BigEndian.Uint32(h)&0xffffff)
		switch {
		case n > chunkMost || kind != chunkData && kind != chunkEnd:
			return false, errChunk
		case kind == chunkData:
			c.r.Discard(chunkHeader) //nolint:errcheck // it was peeked
			if c.left = n; n > 0 || c.whole {
				return n == 0, nil
			}
		default:
			h, err := c.r.Peek(chunkHeader + n)
			if err != nil {
				return false, err
			}
			if c.end = io.EOF; n > 0 {
				c.end = errors.New(string(h[chunkHeader:]))
			}
			c.r.Discard(chunkHeader + n) //nolint:errcheck // it was peeked
		}
	}
	return false, c.end
}

// Write implements net.Conn.
func (c *chunks) Write(p []byte) (n int, err error) {
	for first := true; first || n < len(p); first = false {
		k := min(len(p)-n, chunkMost)
		if c.whole && k < len(p) {
			return 0, fmt.Errorf("host: a datagram of %d bytes: at most %d are possible", len(p), chunkMost)
		}
		if err := c.put(chunkData, p[n:n+k]); err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// CloseWrite says that there will be no more.
func (c *chunks) CloseWrite() error { return c.finish(nil) }

// finish says so, and what went wrong.
func (c *chunks) finish(why error) error {
	text := ""
	if why != nil {
		text = why.Error()
	}
	return c.put(chunkEnd, []byte(text[:min(len(text), 1000)]))
}

func (c *chunks) put(kind byte, p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return net.ErrClosed
	}
	c.ended = kind == chunkEnd
	c.buffer = binary.BigEndian.AppendUint32(c.buffer[:0], uint32(kind)<<24|uint32(len(p)))
	c.buffer = append(c.buffer, p...)
	_, err := c.Conn.Write(c.buffer)
	return err
}
