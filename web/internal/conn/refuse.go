package conn

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"weir/web/http1"
)

// readRefusal gives net/http what it will refuse. What the client sends behind that is thrown away:
// the read ends with the connection.
func (c *Conn) readRefusal(p []byte) (int, error) {
	if n := copy(p, c.refusal); n > 0 {
		c.refusal = c.refusal[n:]
		return n, nil
	}
	away := make([]byte, 512)
	for {
		if _, err := c.below(away); err != nil {
			return 0, err
		}
	}
}

// errorHeaders is how net/http's own refusals begin, behind the status line: nothing a handler
// sends does, for the Date is missing.
var errorHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// explained is the refusal with the scanner's reason in it, when p is net/http's refusal of what
// the scanner had replaced; otherwise nil.
func (c *Conn) explained(p []byte) []byte {
	v := c.reason.Load()
	if v == nil || !bytes.HasPrefix(p, []byte("HTTP/1.1 ")) {
		return nil
	}
	if line := bytes.IndexByte(p, '\r'); line < 0 || !bytes.HasPrefix(p[line:], errorHeaders) {
		return nil
	}
	c.refused.Store(true)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s%s%s\n", v.Status, http.StatusText(v.Status), errorHeaders, sentence(v))
}

func sentence(v *http1.Violation) string { return "Refused: " + v.Reason + "." }

// lingering is how long a client that was refused may take to read why.
const lingering = 500 * time.Millisecond

// Close ends the connection. A client whose request was refused is given a moment to read why,
// while what it still sends is thrown away: bytes that nobody reads would make the kernel reset the
// connection, answer included.
func (c *Conn) Close() error {
	if c.refused.CompareAndSwap(true, false) && c.CloseWrite() == nil {
		c.Conn.SetReadDeadline(time.Now().Add(lingering))
		io.CopyN(io.Discard, c.Conn, 1<<20)
	}
	return c.Conn.Close()
}
