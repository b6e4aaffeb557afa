package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/panjf2000/gnet/v2"
)

// maxHead is the most bytes of a request's head.
const maxHead = 64 << 10

const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

var errRequest = errors.New("not a request of HTTP/1")

// request is the part of a request that this server uses. It refers to the bytes it was parsed
// from.
type request struct {
	method, path []byte
	ifNoneMatch  []byte
	last         bool // the connection ends after the response
}

// parseRequest returns the first request in in and the length of its head; 0 if it is not complete.
func parseRequest(in []byte) (r request, n int, err error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 {
		if len(in) > maxHead {
			return r, 0, errRequest
		}
		return r, 0, nil
	}
	line, rest, _ := bytes.Cut(in[:end], []byte("\r\n"))
	method, line, _ := bytes.Cut(line, []byte(" "))
	path, version, _ := bytes.Cut(line, []byte(" "))
	if len(method) == 0 || len(path) == 0 || path[0] != '/' || string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0" {
		return r, 0, errRequest
	}
	r = request{method: method, path: path, last: string(version) == "HTTP/1.0"}
	if i := bytes.IndexByte(path, '?'); i >= 0 {
		r.path = path[:i]
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || r.field(name, bytes.TrimSpace(value)) != nil {
			return r, 0, errRequest
		}
	}
	return r, end + 4, nil
}

// field takes note of a field of the head.
func (r *request) field(name, value []byte) error {
	switch {
	case bytes.EqualFold(name, []byte("Connection")):
		r.last = r.last || bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("If-None-Match")):
		r.ifNoneMatch = value
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		r.last = true // the body is not read
	case bytes.EqualFold(name, []byte("Content-Length")):
		if len(value) == 0 || len(bytes.Trim(value, "0123456789")) > 0 {
			return errRequest
		}
		r.last = r.last || string(value) != "0"
	}
	return nil
}

// answer writes the response to a request.
func (s *server) answer(c gnet.Conn, r request) {
	f := s.files.find(string(r.path))
	status, fields, body := "HTTP/1.1 200 OK\r\n", "", []byte(nil)
	switch {
	case string(r.method) != "GET" && string(r.method) != "HEAD":
		status, fields = "HTTP/1.1 405 Method Not Allowed\r\n", "Allow: GET, HEAD\r\nContent-Length: 0\r\n"
	case f == nil:
		status, fields, body = "HTTP/1.1 404 Not Found\r\n", "Content-Type: text/plain\r\nContent-Length: 10\r\n", []byte("not found\n")
	case len(r.ifNoneMatch) > 0 && string(r.ifNoneMatch) == f.tag:
		status, fields = "HTTP/1.1 304 Not Modified\r\n", "ETag: "+f.tag+"\r\n"
	default:
		fields, body = f.fields, f.text
	}
	if string(r.method) == "HEAD" {
		body = nil
	}
	closing := "\r\n"
	if r.last {
		closing = "Connection: close\r\n\r\n"
	}
	head := make([]byte, 0, 256)
	for _, part := range []string{status, *s.date.Load(), fields, closing} {
		head = append(head, part...)
	}
	c.Writev([][]byte{head, body}) //nolint:errcheck // gnet closes the connection
}

// clean reports whether a path names a file in the folder.
func clean(path string) bool {
	return !strings.Contains(path, "..") && !strings.ContainsAny(path, "%\x00")
}
