package cgi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"weir/web"
)

// head is what a program says first (RFC 3875 section 6).
type head struct {
	status int
	fields textproto.MIMEHeader
	length int64 // of the body, -1 when it was not told
}

// Why a head can't be understood.
var (
	errNPH     = errors.New("it wrote a status line, as a program with non-parsed headers does, which are not supported")
	errLong    = errors.New("its head is too long")
	errNoHead  = errors.New("it ended before its head did")
	errNothing = errors.New("its head has neither Content-Type nor Location nor Status")
)

// hop are fields that are between the server and the client.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Status"}

// limited is what is read of a head at most.
func limited(r io.Reader, n int64) (*bufio.Reader, *io.LimitedReader) {
	limit := &io.LimitedReader{R: r, N: n}
	return bufio.NewReaderSize(limit, 4<<10), limit
}

// readHead reads a head up to the empty line; limit is what in reads from, and is lifted then.
func readHead(in *bufio.Reader, limit *io.LimitedReader) (head, error) {
	if first, _ := in.Peek(5); string(first) == "HTTP/" {
		return head{}, errNPH
	}
	fields, err := textproto.NewReader(in).ReadMIMEHeader()
	switch {
	case limit.N <= 0 && err != nil:
		return head{}, errLong
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return head{}, errNoHead
	case err != nil:
		return head{}, err
	}
	limit.N = math.MaxInt64
	return parseHead(fields)
}

func parseHead(fields textproto.MIMEHeader) (h head, err error) {
	h = head{fields: fields, length: -1}
	for name, values := range fields {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
				return h, fmt.Errorf("its head has a field that can't be sent: %q: %q", name, v)
			}
		}
	}
	status, location := fields.Get("Status"), fields.Get("Location")
	switch {
	case status != "":
		code, _, _ := strings.Cut(status, " ")
		if h.status, err = strconv.Atoi(code); err != nil || h.status < 200 || h.status > 599 {
			return h, fmt.Errorf("its status is %q, which is none from 200 to 599", status)
		}
	case location != "":
		h.status = http.StatusFound
	case fields.Get("Content-Type") == "":
		return h, errNothing
	default:
		h.status = http.StatusOK
	}
	if lengths := fields["Content-Length"]; len(lengths) > 0 {
		if h.length, err = strconv.ParseInt(lengths[0], 10, 64); err != nil || h.length < 0 || len(lengths) > 1 {
			return h, fmt.Errorf("its length is %q, which is none", strings.Join(lengths, ", "))
		}
	}
	for _, name := range hop {
		delete(fields, name)
	}
	return h, nil
}

// set makes the head the exchange's. Fields that earlier components have set are replaced; Vary and
// Set-Cookie are added to.
func (h head) set(c *web.Conn) {
	c.SetStatus(h.status)
	for _, name := range slices.Sorted(maps.Keys(h.fields)) {
		if name != "Vary" && name != "Set-Cookie" {
			c.DelHeader(name)
		}
		for _, v := range h.fields[name] {
			c.AddHeader(name, v)
		}
	}
}
