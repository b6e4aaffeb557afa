package engine

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// pieces is a connection whose client sends one piece for each Read.
type pieces struct {
	repeater
	left []string
}

// Read implements [io.Reader].
func (c *pieces) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.left[0])
	if c.left[0] = c.left[0][n:]; c.left[0] == "" {
		c.left = c.left[1:]
	}
	return n, nil
}

// cut returns s in pieces: each byte of sizes is the size of the next one; the last takes the rest.
func cut(s string, sizes []byte) (parts []string) {
	for _, size := range sizes {
		if n := int(size); n > 0 && n < len(s) {
			parts, s = append(parts, s[:n]), s[n:]
		}
	}
	return append(parts, s)
}

// readRequests serves a stream that arrives in these pieces, and returns what the handler was
// given, and what the client was sent.
func readRequests(parts []string) (seen []string, sent string) {
	c := &pieces{left: parts}
	New(Config{Handler: reusing{func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprintf("%q %q %v %q %v %v", r.Method, r.RequestURI, r.Header, content, err, r.Trailer))
	}}}).ServeConn(c, nil, nil)
	return seen, c.written.String()
}

const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"

// TestAnEmptyLineBeforeARequestIsSkipped (RFC 9112, section 2.2), however the input is cut. Other
// bytes before the request line are refused: they must not hide bytes of a head from one of those
// that judge it.
func TestAnEmptyLineBeforeARequestIsSkipped(t *testing.T) {
	const next = "GET /two HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, c := range []struct {
		name, between, next string
		ok                  bool
	}{
		{"an empty line", "\r\n", next, true},
		{"a zero byte", "\r\n", "\x00\n" + next, false},
		{"a method of two words", "\r\n", "A " + next, false},
		{"no method", "\r\n", ": " + next, false},
		{"a field in the request line", "\r\n", "A * /aaaaaa1..X-Evil:y HTTP/1.1\r\nHost: a\r\n\r\n", false},
		{"a length in the request line", "\r\n", "A * /aaaaaa1..Content-Length:999 HTTP/1.1\r\nHost: a\r\n\r\n", false},
	} {
		for _, parts := range [][]string{{post, c.between, c.next}, {post + c.between, c.next}, {post, c.between + c.next}, {post + c.between + c.next}} {
			seen, sent := readRequests(parts)
			if want := `"GET" "/two" map[] "" <nil> map[]`; c.ok && (len(seen) != 2 || seen[1] != want) {
				t.Errorf("%s, in the pieces %q: got the requests %q, want the second as %s", c.name, parts, seen, want)
			}
			if !c.ok && (len(seen) != 1 || !strings.Contains(sent, "HTTP/1.1 400 ")) {
				t.Errorf("%s, in the pieces %q: got the requests %q and the output %q, want one request, then 400", c.name, parts, seen, sent)
			}
		}
	}
}

// FuzzCutsDoNotMatter: the requests and responses of a stream do not depend on where it is cut.
func FuzzCutsDoNotMatter(f *testing.F) {
	for _, stream := range []string{
		get + get, post + "\r\n" + get, post + "\r\n\x00\n" + get,
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi" + get,
	} {
		f.Add(stream, []byte{1, 2, 3, 50, 1, 1})
	}
	f.Fuzz(func(t *testing.T, stream string, sizes []byte) {
		want, wantSent := readRequests([]string{stream})
		got, sent := readRequests(cut(stream, sizes))
		if fmt.Sprint(got) != fmt.Sprint(want) || withoutDate(sent) != withoutDate(wantSent) {
			t.Errorf("in pieces: got the requests %q and the output %q; in one: %q and %q", got, sent, want, wantSent)
		}
	})
}

// withoutDate returns output without its fields Date.
func withoutDate(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "Date: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
