package http

import (
	"bufio"
	"bytes"
	"errors"
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
	out     io.Writer // of requests: the TCP connection, or TLS on it
	in      *bufio.Reader
	allowed *allowance // of what in reads
	b       *bench
}

// allowance reads at most so many bytes from a connection, and then fails.
type allowance struct {
	from io.Reader
	left int // bytes
}

var errTooLong = errors.New("more than a response may have")

func (a *allowance) Read(p []byte) (int, error) {
	if a.left == 0 {
		return 0, errTooLong
	}
	n, err := a.from.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}

// response is one response, with its whole body decoded from chunks.
type response struct {
	*http.Response
	body []byte
}

const (
	// maxBody is the longest body of a response that the checks read, in bytes.
	maxBody = 64 << 20
	// smallBody is the part of a body that every connection may hold at once, in bytes.
	smallBody = 1 << 20
	// maxHead is the longest head of a response that the checks read, in bytes.
	maxHead = 1 << 20
	// maxInterim is how many 1xx responses may come before the final one.
	maxInterim = 32
)

// dial connects; the end of the round closes the connection.
func (b *bench) dial() *conn {
	c := b.Dial()
	v := &conn{TCPConn: c, b: b}
	v.over(c)
	return v
}

// over makes the connection use a stream: the TCP connection, or TLS on it.
func (v *conn) over(stream io.ReadWriter) {
	v.allowed = &allowance{from: stream, left: maxHead}
	v.out, v.in = stream, bufio.NewReader(v.allowed)
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
	r := v.readHead(method)
	v.allowed.left = 2 * maxBody // chunks have a head each
	body, err := v.b.readBody(r.Body)
	contract.Expect(len(body) <= maxBody, "expected a body of at most %d MiB, saw more", maxBody>>20)
	length := "in chunks or up to the end of the connection"
	if r.ContentLength >= 0 {
		length = fmt.Sprintf("of %d bytes", r.ContentLength)
	}
	contract.Expect(err == nil, "expected a body %s, saw %d bytes: %w", length, len(body), contract.DescribeError(err))
	return response{r, body}
}

// readBody reads a body, or a byte more than maxBody of it. It may be called from any goroutine. Only
// one body at a time is read beyond smallBody, so that all connections together hold little more
// than one large body.
func (b *bench) readBody(from io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, smallBody))
	if err != nil || len(body) < smallBody {
		return body, err
	}
	b.large.Lock()
	defer b.large.Unlock()
	rest, err := io.ReadAll(io.LimitReader(from, maxBody+1-smallBody))
	return append(body, rest...), err
}

// readHead reads the head of the final response. Interim ones are skipped: a client must be able
// to, whether it expects them or not (RFC 9110, 15.2).
func (v *conn) readHead(method string) *http.Response {
	v.allowed.left = maxHead
	for range maxInterim + 1 {
		r, err := http.ReadResponse(v.in, &http.Request{Method: method})
		contract.Expect(err == nil, "expected a response: %w", shortened(contract.DescribeError(err)))
		if r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols {
			return r
		}
	}
	contract.Failf("expected a response, saw more than %d interim ones", maxInterim)
	return nil
}

// maxErrorText limits the text of an error that quotes what a server sent, in bytes.
const maxErrorText = 200

// shortened returns err, or the start of its text.
func shortened(err error) error {
	if err == nil || len(err.Error()) <= maxErrorText {
		return err
	}
	return fmt.Errorf("%.*s…", maxErrorText, err.Error())
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
