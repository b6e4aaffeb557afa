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

// httpConn is one HTTP connection. Requests are written as bytes, because well-formed clients
// cannot send malformed requests.
type httpConn struct {
	*net.TCPConn
	in *bufio.Reader
}

// answer is one response, with its whole body decoded from chunks.
type response struct {
	*http.Response
	body []byte
}

// dialHTTP connects.
func (b *bench) dialHTTP() (*httpConn, error) {
	c, err := b.Dial()
	if err != nil {
		return nil, err
	}
	return &httpConn{c, bufio.NewReader(c)}, nil
}

// dialAllHTTP connects n times; the end of the check closes the connections.
func (b *bench) dialAllHTTP(n int) (all []*httpConn, err error) {
	for range n {
		v, err := b.dialHTTP()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// request returns the text of an HTTP/1.1 request without a body.
func request(method, path string, fields ...string) string {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: contract"}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// writeText writes text as it is.
func (v *httpConn) writeText(text string) error {
	if _, err := v.Write([]byte(text)); err != nil {
		return fmt.Errorf("expected the server to take %.40q: %w", text, contract.DescribeError(err))
	}
	return nil
}

// readResponse reads the response to a request with the method.
func (v *httpConn) readResponse(method string) (response, error) {
	r, err := http.ReadResponse(v.in, &http.Request{Method: method})
	if err != nil {
		return response{}, fmt.Errorf("expected a response: %w", contract.DescribeError(err))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return response{}, fmt.Errorf("expected a body of %d bytes, saw %d: %w", r.ContentLength, len(body), contract.DescribeError(err))
	}
	return response{r, body}, nil
}

// do sends a request and reads its response.
func (v *httpConn) do(method, path string, fields ...string) (response, error) {
	if err := v.writeText(request(method, path, fields...)); err != nil {
		return response{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	a, err := v.readResponse(method)
	if err != nil {
		return a, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a, nil
}

// get requests a file and checks its response.
func (v *httpConn) get(path string, content []byte, fields ...string) error {
	a, err := v.do("GET", path, fields...)
	if err == nil {
		err = a.checkFile(path, content)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "GET ") {
		err = fmt.Errorf("GET %s: %w", path, err)
	}
	return err
}

// checkFile returns an error if the response is not the one to a GET of a file with this content.
func (a response) checkFile(path string, content []byte) error {
	if err := a.checkHeader(path, content); err != nil {
		return err
	}
	return compareBody(a.body, content)
}

// checkHeader returns an error if the header of the response to a GET or HEAD of a file is wrong.
func (a response) checkHeader(path string, content []byte) error {
	kind := a.Header.Get("Content-Type")
	switch {
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("expected status 200, saw %s", a.Status)
	case !strings.HasPrefix(kind, "text/html") && !strings.HasSuffix(path, ".bin"):
		return fmt.Errorf("expected Content-Type text/html, saw %q", kind)
	case a.Header.Get("Content-Length") != fmt.Sprint(len(content)):
		return fmt.Errorf("expected Content-Length %d, saw %q", len(content), a.Header.Get("Content-Length"))
	}
	return nil
}

// compareBody returns an error with the first difference of two bodies.
func compareBody(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	return fmt.Errorf("expected the %d bytes of the file, saw %d, other ones from byte %d", len(want), len(got), i)
}

// expectClose checks that the server closes the connection without sending anything more.
func (v *httpConn) expectClose() error {
	rest, err := io.ReadAll(v.in)
	switch {
	case err != nil:
		return fmt.Errorf("expected the server to close the connection: %w", contract.DescribeError(err))
	case len(rest) > 0:
		return fmt.Errorf("expected nothing more, saw %.60q", rest)
	}
	return nil
}

// closed reports whether an error of readResponse means that the connection ended without a
// response.
func closed(err error) bool {
	return errors.Is(err, contract.ErrEnded) || errors.Is(err, contract.ErrReset)
}
