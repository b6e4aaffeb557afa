package conn

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"weir/web/http1"
)

// readRejected returns input that net/http rejects. Input behind that is discarded: the read ends
// with the connection.
func (c *Conn) readRejected(p []byte) (int, error) {
	if n := copy(p, c.rejectedInput); n > 0 {
		c.rejectedInput = c.rejectedInput[n:]
		return n, nil
	}
	discarded := make([]byte, 512)
	for {
		if _, err := c.readLower(discarded); err != nil {
			return 0, err
		}
	}
}

// errorFields follow the status line of responses by which net/http itself rejects a request.
// Responses of handlers differ: they have a Date.
var errorFields = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// explained returns the response with the scanner's reason if p is net/http's response to input
// that the scanner has replaced; otherwise nil.
func (c *Conn) explained(p []byte) []byte {
	v := c.violation.Load()
	if v == nil || !bytes.HasPrefix(p, []byte("HTTP/1.1 ")) {
		return nil
	}
	if line := bytes.IndexByte(p, '\r'); line < 0 || !bytes.HasPrefix(p[line:], errorFields) {
		return nil
	}
	c.isRejected.Store(true)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s%s%s\n", v.Status, http.StatusText(v.Status), errorFields, sentence(v))
}

func sentence(v *http1.Violation) string { return "Refused: " + v.Reason + "." }

// lingerTime is how long a client may take to read why its request was rejected.
const lingerTime = 500 * time.Millisecond

// Close closes the connection. If a request was rejected, it first reads and discards input for a
// moment: unread input would make the kernel reset the connection, and the client might not get the
// response.
func (c *Conn) Close() error {
	if c.isRejected.CompareAndSwap(true, false) && c.CloseWrite() == nil {
		c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		io.CopyN(io.Discard, c.Conn, 1<<20)
	}
	return c.Conn.Close()
}
