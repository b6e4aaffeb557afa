package main

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
)

const (
	maxHead = 8 << 10 // bytes of a request's head
	maxBody = 1 << 20 // bytes of a body that are read and discarded
)

// request is the part of a request that this server uses.
type request struct {
	method, path string
	body         int64 // bytes that follow the head
	old          bool  // HTTP/1.0
	close        bool  // the client sends no further request on the connection
}

// badRequest is the status line of the answer to a malformed or unsupported request; the connection
// then ends.
type badRequest string

func (b badRequest) Error() string { return string(b) }

const malformed badRequest = "400 Bad Request"

// readRequest reads one head. An error other than badRequest is the connection's.
func readRequest(in *bufio.Reader) (r request, err error) {
	line, err := readLine(in, maxHead)
	if err == nil && len(line) == 0 {
		line, err = readLine(in, maxHead) // RFC 9112 2.2: an empty line may come before the first
	}
	if err != nil {
		return r, err
	}
	if err := r.first(line); err != nil {
		return r, err
	}
	left, hosts, lengths := maxHead-len(line), 0, 0
	for {
		line, err := readLine(in, left)
		if err != nil {
			return r, err
		}
		if len(line) == 0 {
			break
		}
		left -= len(line)
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return r, malformed // also a folded line, and a blank before the colon
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "host":
			hosts++
		case "connection":
			r.close = r.close && !lists(value, "keep-alive") || lists(value, "close")
		case "transfer-encoding":
			return r, badRequest("501 Not Implemented")
		case "content-length":
			lengths++
			if r.body, ok = length(value); !ok {
				return r, malformed
			}
		}
	}
	switch {
	case hosts > 1 || hosts == 0 && !r.old || lengths > 1:
		return r, malformed
	case r.body > maxBody:
		return r, badRequest("413 Content Too Large")
	}
	return r, nil
}

// first parses the request line.
func (r *request) first(line string) error {
	method, rest, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(rest, " ")
	if !ok || !isToken(method) {
		return malformed
	}
	target, _, _ = strings.Cut(target, "?")
	// RFC 9112, section 3.2.2: a server accepts the absolute form, too
	if i := strings.Index(target, "://"); i > 0 {
		_, path, _ := strings.Cut(target[i+len("://"):], "/")
		target = "/" + path
	}
	r.method, r.path = method, target
	switch {
	case !strings.HasPrefix(target, "/") && target != "*":
		return malformed
	case version == "HTTP/1.0":
		r.old, r.close = true, true
	case version == "HTTP/1.1":
	case strings.HasPrefix(version, "HTTP/"):
		return badRequest("505 HTTP Version Not Supported")
	default:
		return malformed
	}
	return nil
}

// lists reports whether a field's value, a list, contains option.
func lists(value, option string) bool {
	for each := range strings.SplitSeq(value, ",") {
		if strings.EqualFold(strings.Trim(each, " \t"), option) {
			return true
		}
	}
	return false
}

// length parses a Content-Length: digits alone.
func length(text string) (int64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// readLine reads a line of at most left bytes and returns it without its end.
func readLine(in *bufio.Reader, left int) (string, error) {
	line, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull || len(line) > left {
		return "", badRequest("431 Request Header Fields Too Large")
	}
	if err != nil {
		return "", err
	}
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0 {
		return "", malformed
	}
	return string(text), nil
}

// isToken reports whether text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return text != ""
}
