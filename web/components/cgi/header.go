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

// header is the header of a program's response (RFC 3875, section 6).
type header struct {
	status int
	fields textproto.MIMEHeader
	length int64 // of the body; -1: not stated
}

// The reasons why a header is invalid.
var (
	errNPH     = errors.New("it wrote a status line: programs with non-parsed headers are not supported")
	errLong    = errors.New("its header is longer than max_head")
	errNoHead  = errors.New("it ended before its header was complete")
	errNothing = errors.New("its header has neither Content-Type nor Location nor Status")
)

// removedFields are fields of a program that are about the server's connection, or are used here.
var removedFields = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Status"}

// limitHeader returns a reader that reads at most n bytes until the limit is lifted.
func limitHeader(r io.Reader, n int64) (*bufio.Reader, *io.LimitedReader) {
	limit := &io.LimitedReader{R: r, N: n}
	return bufio.NewReaderSize(limit, 4<<10), limit
}

// readHeader reads a header up to the empty line. It lifts limit, which in reads from, afterwards.
func readHeader(in *bufio.Reader, limit *io.LimitedReader) (header, error) {
	if first, _ := in.Peek(5); string(first) == "HTTP/" {
		return header{}, errNPH
	}
	fields, err := textproto.NewReader(in).ReadMIMEHeader()
	switch {
	case limit.N <= 0 && err != nil:
		return header{}, errLong
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return header{}, errNoHead
	case err != nil:
		return header{}, err
	}
	limit.N = math.MaxInt64
	return parseHeader(fields)
}

func parseHeader(fields textproto.MIMEHeader) (h header, err error) {
	h = header{fields: fields, length: -1}
	for name, values := range fields {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
				return h, fmt.Errorf("its header has an invalid field: %q: %q", name, v)
			}
		}
	}
	status, location := fields.Get("Status"), fields.Get("Location")
	switch {
	case status != "":
		code, _, _ := strings.Cut(status, " ")
		if h.status, err = strconv.Atoi(code); err != nil || h.status < 200 || h.status > 599 {
			return h, fmt.Errorf("its Status is %q, which is not a status from 200 to 599", status)
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
			return h, fmt.Errorf("its Content-Length is %q, which is not a length", strings.Join(lengths, ", "))
		}
	}
	for _, name := range removedFields {
		delete(fields, name)
	}
	return h, nil
}

// set sets the exchange's status and fields. Fields replace those that earlier components have set;
// Vary and Set-Cookie are added to.
func (h header) set(c *web.Conn) {
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
