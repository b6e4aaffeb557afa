package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestResponseHeads(t *testing.T) {
	for _, c := range []struct {
		head, method string
		want         string // status, framing, length, close; or the error
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", "200 length 5"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", "200 none"},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET", "304 none"},
		{"HTTP/1.1 204 \r\n\r\n", "GET", "204 none"},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "GET", "103 none"},
		{"HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n", "GET", "200 chunked"},
		{"HTTP/1.1 200 OK\r\n\r\n", "GET", "200 until close, close"},
		{"HTTP/1.1 999 \t\xff\r\nConnection: a, Close\r\nContent-Length:\t0 \r\n\r\n", "POST", "999 length 0, close"},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", "GET", "200 length 1, close"},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n", "GET", "200 length 1"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "GET", "200 length 1"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", errResponseLengths.Error()},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "GET", errResponseCoding.Error()},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", errResponseCoding.Error()},
		{"HTTP/2.0 200 OK\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1  200 OK\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1 20 OK\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1 099 OK\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1 200OK\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1 200 O\nK\r\n\r\n", "GET", errStatusLine.Error()},
		{"220 mail ready\r\n\r\n", "GET", errStatusLine.Error()},
		{"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\n: b\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\nA\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\nA: b\nB: c\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "GET", errResponseField.Error()},
		{"HTTP/1.1 200 OK\r\nA: b\x00c\r\n\r\n", "GET", errResponseField.Error()},
	} {
		if n := ResponseHead([]byte(c.head+"rest"), 0); n != len(c.head) {
			t.Errorf("%q: got a head of %d bytes, want %d", c.head, n, len(c.head))
		}
		if got := describeResponse(ParseResponse([]byte(c.head), c.method)); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.method, c.head, got, c.want)
		}
	}
}

func describeResponse(r Received, err error) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprint(r.Status, " ", [...]string{"none", "length", "chunked", "until close"}[r.Framing])
	if r.Framing == ByLength {
		text += fmt.Sprint(" ", r.Length)
	}
	if r.Close {
		text += ", close"
	}
	return text
}

// A head is found wherever the pieces end in which it arrives.
func TestTheEndOfAResponseHeadIsFoundInPieces(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
	for cut := range len(head) {
		if n := ResponseHead([]byte(head[:cut]), 0); n != 0 {
			t.Errorf("%q: got a head of %d bytes, want none", head[:cut], n)
		}
		if n := ResponseHead([]byte(head+"x"), cut); n != len(head) {
			t.Errorf("cut at %d: got a head of %d bytes, want %d", cut, n, len(head))
		}
	}
}

// FuzzResponse compares with net/http: what both accept has the same status, framing and fields,
// and what this package accepts, net/http does, too.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\n", "HTTP/1.0 304 x\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close, x\r\n\r\n", "HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		n := ResponseHead(head, 0)
		if n == 0 {
			return
		}
		head = head[:n]
		r, err := ParseResponse(head, "GET")
		if err != nil {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(head), strings.NewReader("0\r\n\r\n"))), &http.Request{Method: "GET"})
		if err != nil {
			t.Fatalf("%q: accepted, but net/http rejects it: %v", head, err)
		}
		// net/http reports the coding also of a response whose status rules content out
		noContent := r.Status < 200 || r.Status == 204 || r.Status == 304
		chunked := len(theirs.TransferEncoding) > 0 && !noContent
		if theirs.StatusCode != r.Status || chunked != (r.Framing == Chunked) || r.Framing == ByLength && theirs.ContentLength != r.Length || r.Framing == UntilClose && theirs.ContentLength != -1 {
			t.Fatalf("%q: got %+v, want %d, length %d, codings %q", head, r, theirs.StatusCode, theirs.ContentLength, theirs.TransferEncoding)
		}
		// net/http takes these out
		framing := []string{"Transfer-Encoding", "Trailer", "Content-Length", "Connection"}
		for name, value := range FieldLines(r.Fields) {
			if !slices.Contains(framing, http.CanonicalHeaderKey(string(name))) && len(theirs.Header.Values(string(name))) == 0 {
				t.Fatalf("%q: got %s: %s, want %v", head, name, value, theirs.Header)
			}
		}
	})
}

// FuzzAppendRequest: a request that was written is read as the same one, whatever its fields hold.
func FuzzAppendRequest(f *testing.F) {
	f.Add("X-A", "b", "example.org", int64(3))
	f.Add("X-A\r\nB", "b\r\nContent-Length: 3\r\n\r\n", "a\r\nb", int64(-1))
	f.Fuzz(func(t *testing.T, name, value, host string, length int64) {
		length = max(-1, length%1000)
		b := EndRequest(AppendRequestField(AppendRequestLine(nil, "POST", "/a?b", host), name, value), length)
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return // the host is the caller's
		}
		delete(r.Header, "Content-Length")
		if r.Method != "POST" || r.RequestURI != "/a?b" || len(r.Header) > 1 || r.ContentLength != max(0, length) || len(r.TransferEncoding) > 0 {
			t.Fatalf("%q: got %s %s %v, length %d", b, r.Method, r.RequestURI, r.Header, r.ContentLength)
		}
	})
}
