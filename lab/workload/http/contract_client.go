package http

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"weir/lab/contract"
)

// conn is one HTTP connection. Requests are written as bytes, because well-formed clients cannot
// send malformed requests.
type conn struct {
	*net.TCPConn
	out io.Writer // of requests: the TCP connection, or TLS on it
	in  *bufio.Reader
	b   *bench
}

// response is one response, with its whole body decoded from chunks.
type response struct {
	*http.Response
	body []byte
}

// maxBody is the longest body of a response that the checks read, in bytes.
const maxBody = 64 << 20

// dial connects; the end of the round closes the connection.
func (b *bench) dial() *conn {
	c := b.Dial()
	return &conn{c, c, bufio.NewReader(c), b}
}

// dialAll connects n times.
func (b *bench) dialAll(n int) (all []*conn) {
	for range n {
		all = append(all, b.dial())
	}
	return all
}

// request returns the text of an HTTP/1.1 request without a body.
func request(method, path string, fields ...string) string {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: contract"}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// write writes text as it is.
func (v *conn) write(text string) { contract.WriteText(v.out, text) }

// read reads the response to a request with the method.
func (v *conn) read(method string) response {
	r, err := http.ReadResponse(v.in, &http.Request{Method: method})
	contract.Expect(err == nil, "expected a response: %w", contract.DescribeError(err))
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	contract.Expect(len(body) <= maxBody, "expected a body of at most %d MiB, saw more", maxBody>>20)
	contract.Expect(err == nil, "expected a body of %d bytes, saw %d: %w", r.ContentLength, len(body), contract.DescribeError(err))
	return response{r, body}
}

// readFile reads the response to a request for a file, and checks it.
func (v *conn) readFile(path string) { v.read("GET").checkFile(path, v.b.www.files[path]) }

// do sends a request and reads its response.
func (v *conn) do(method, path string, fields ...string) (a response) {
	contract.During(method+" "+path, func() {
		v.write(request(method, path, fields...))
		a = v.read(method)
	})
	return a
}

// get requests a file and checks its response.
func (v *conn) get(path string, fields ...string) {
	a := v.do("GET", path, fields...)
	contract.During("GET "+path, func() { a.checkFile(path, v.b.www.files[path]) })
}

// getAll requests each file once.
func (v *conn) getAll() {
	for _, path := range v.b.paths() {
		v.get(path)
	}
}

// checkStatus expects a status.
func (a response) checkStatus(status int) {
	contract.Expect(a.StatusCode == status, "expected status %d, saw %s", status, a.Status)
}

// checkFile expects the response to a GET of a file with this content.
func (a response) checkFile(path string, content []byte) {
	a.checkHeader(path, content)
	checkBody(a.body, content)
}

// checkHeader expects the header of a response to a GET or HEAD of a file with this content.
func (a response) checkHeader(path string, content []byte) {
	a.checkStatus(http.StatusOK)
	kind := a.Header.Get("Content-Type")
	contract.Expect(strings.HasPrefix(kind, "text/html") || strings.HasSuffix(path, ".bin"), "expected Content-Type text/html, saw %q", kind)
	length := a.Header.Get("Content-Length")
	contract.Expect(length == fmt.Sprint(len(content)), "expected Content-Length %d, saw %q", len(content), length)
}

// checkBody expects a body, and names the first difference.
func checkBody(got, want []byte) {
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	contract.Failf("expected the %d bytes of the file, saw %d, other ones from byte %d", len(want), len(got), i)
}

// expectClose expects that the server closes the connection without sending anything more.
func (v *conn) expectClose() {
	rest, err := io.ReadAll(v.in)
	contract.Expect(err == nil, "expected the server to close the connection: %w", contract.DescribeError(err))
	contract.Expect(len(rest) == 0, "expected nothing more, saw %.60q", rest)
}
