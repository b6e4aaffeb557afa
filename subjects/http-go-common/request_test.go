package main

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func read(text string) (request, error) {
	return readRequest(bufio.NewReaderSize(strings.NewReader(text), maxHead))
}

func TestReadRequest(t *testing.T) {
	const host = "Host: a\r\n\r\n"
	for text, want := range map[string]request{
		"GET /page.html HTTP/1.1\r\n" + host:                                    {method: "GET", path: "/page.html"},
		"\r\nGET / HTTP/1.1\r\n" + host:                                         {method: "GET", path: "/"},
		"HEAD /?a=b HTTP/1.1\r\nConnection: a, Close\r\n" + host:                {method: "HEAD", path: "/", close: true},
		"GET / HTTP/1.0\r\n\r\n":                                                {method: "GET", path: "/", old: true, close: true},
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                      {method: "GET", path: "/", old: true},
		"GET / HTTP/1.1\r\nConnection: close, keep-alive\r\n" + host:            {method: "GET", path: "/", close: true},
		"GET http://a/page.html HTTP/1.1\r\n" + host:                            {method: "GET", path: "/page.html"},
		"GET http://a HTTP/1.1\r\n" + host:                                      {method: "GET", path: "/"},
		"POST / HTTP/1.1\r\ncontent-length:\t12 \r\n" + host + "more than that": {method: "POST", path: "/", body: 12},
	} {
		if r, err := read(text); err != nil || r != want {
			t.Errorf("%q: %+v, %v; want %+v", text, r, err, want)
		}
	}
}

// A request that another server could parse differently is rejected, and ends the connection.
func TestReadRequestRefuses(t *testing.T) {
	const get, host = "GET / HTTP/1.1\r\n", "Host: a\r\n\r\n"
	for text, want := range map[string]badRequest{
		"GET  / HTTP/1.1\r\n" + host:                                    malformed,
		"GET /\r\n\r\n":                                                 malformed,
		"GET page HTTP/1.1\r\n" + host:                                  malformed,
		"GET / HTTP/1.1\n" + host:                                       malformed,
		get + "\r\n":                                                    malformed,
		get + "Host: b\r\n" + host:                                      malformed,
		get + "A : b\r\n" + host:                                        malformed,
		get + "A: b\r\n folded\r\n" + host:                              malformed,
		get + "A: b\rc\r\n" + host:                                      malformed,
		get + "A: b\x00\r\n" + host:                                     malformed,
		get + "Content-Length: +1\r\n" + host:                           malformed,
		get + "Content-Length: \r\n" + host:                             malformed,
		get + "Content-Length: 1\r\nContent-Length: 1\r\n" + host:       malformed,
		get + "Content-Length: 99999999999999999999\r\n" + host:         malformed,
		get + "Content-Length: 99999999\r\n" + host:                     "413 Content Too Large",
		get + "Transfer-Encoding: chunked\r\n" + host:                   "501 Not Implemented",
		"GET / HTTP/2.0\r\n" + host:                                     "505 HTTP Version Not Supported",
		get + "A: " + strings.Repeat("x", maxHead) + "\r\n" + host:      "431 Request Header Fields Too Large",
		get + strings.Repeat("A: some text\r\n", maxHead/12) + host:     "431 Request Header Fields Too Large",
		"GET /" + strings.Repeat("x", maxHead) + " HTTP/1.1\r\n" + host: "431 Request Header Fields Too Large",
	} {
		var bad badRequest
		if _, err := read(text); !errors.As(err, &bad) || bad != want {
			t.Errorf("%.80q: %v, want %v", text, err, want)
		}
	}
}

// FuzzReadRequest: a request that both accept is parsed alike by this server and by net/http, up to
// the same byte.
func FuzzReadRequest(f *testing.F) {
	f.Add("GET /page.html HTTP/1.1\r\nHost: a\r\n\r\nrest")
	f.Add("POST / HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabcGET")
	f.Add("\r\nGET * HTTP/1.1\r\nHost:\r\nConnection: close,\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		ours, theirs := bufio.NewReaderSize(strings.NewReader(text), maxHead), bufio.NewReaderSize(strings.NewReader(text), maxHead)
		r, err := readRequest(ours)
		if err != nil {
			return
		}
		other, err := http.ReadRequest(theirs)
		if err != nil {
			return
		}
		if r.method != other.Method || r.body != other.ContentLength || r.old != (other.ProtoMinor == 0) || ours.Buffered() != theirs.Buffered() {
			t.Errorf("%q: got %+v and %d unread bytes, want as net/http %s, body %d, HTTP/1.%d, %d unread",
				text, r, ours.Buffered(), other.Method, other.ContentLength, other.ProtoMinor, theirs.Buffered())
		}
	})
}
