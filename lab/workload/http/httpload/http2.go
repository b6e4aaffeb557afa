package httpload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/http2/hpack"

	"weir/lab/workload/http/httpload/h2"
	"weir/lab/workload/http/httpload/response"
)

// MaxStreams is the largest number of streams of all connections.
const MaxStreams = 100_000

// alpnHTTP2 is the only application protocol that is offered for HTTP/2.
const alpnHTTP2 = "h2"

// checkHTTP2 returns what is wrong with the settings of HTTP/2, or "".
func (c Config) checkHTTP2() string {
	switch {
	case !c.HTTP2 && c.Streams != 0:
		return "streams are of HTTP/2: give --http2 with --streams"
	case c.HTTP2 && c.Close:
		return "a connection of HTTP/2 is for many requests: leave out --http2 or --no-keep-alive"
	case c.Streams < 0 || c.Streams > MaxStreams || c.Connections*max(c.Streams, 1) > MaxStreams:
		return fmt.Sprintf("%d streams on each of %d connections are out of range: give 1 or more, and at most %d on all", c.Streams, c.Connections, MaxStreams)
	}
	return ""
}

// requestHTTP2 returns r for HTTP/2 (RFC 9113, section 8.3.1).
func (r *Request) requestHTTP2(c *Config) *h2.Request {
	if r.GRPC {
		return r.callHTTP2(c)
	}
	return &h2.Request{Fields: r.fieldsHTTP2(c), Body: []byte(r.Body), Head: r.Method == "HEAD"}
}

// fieldsHTTP2 returns the fields of r for HTTP/2.
func (r *Request) fieldsHTTP2(c *Config) []hpack.HeaderField {
	fields := r.fields(c)
	scheme := "http"
	if u, err := url.Parse(c.URL); err == nil {
		scheme = u.Scheme
	}
	list := []hpack.HeaderField{{Name: ":method", Value: r.method()}, {Name: ":scheme", Value: scheme}, {Name: ":authority", Value: fields[0].value}, {Name: ":path", Value: r.target(c)}}
	for _, f := range fields[1:] {
		list = append(list, hpack.HeaderField{Name: strings.ToLower(f.name), Value: f.value})
	}
	return list
}

// errNoHTTP2 is the error of a server that does not choose HTTP/2.
var errNoHTTP2 = errors.New("the server does not choose HTTP/2 by ALPN: leave out --http2, or turn HTTP/2 on in the server")

// choseHTTP2 returns errNoHTTP2 if a connection does not have HTTP/2.
func choseHTTP2(s tls.ConnectionState) error {
	if s.NegotiatedProtocol != alpnHTTP2 {
		return errNoHTTP2
	}
	return nil
}

// exchange is a request over HTTP/2 on a blocking connection.
type exchange struct {
	head    response.Head
	trailer h2.Trailer
	text    []byte
	done    bool
	err     error
}

func (e *exchange) Head(_ int, h response.Head, _ int) { e.head = h }
func (e *exchange) End(_ int, t h2.Trailer)            { e.done, e.trailer = true, t }
func (e *exchange) Failed(_ int, err error)            { e.done, e.err = true, err }

func (e *exchange) Data(_ int, piece []byte) {
	if e.text = append(e.text, piece...); len(e.text) > maxLearned {
		e.done, e.err = true, fmt.Errorf("its body is larger than %d bytes: give the expected body as a file", maxLearned)
	}
}

// run makes the request r on conn.
func (e *exchange) run(conn net.Conn, r *h2.Request) error {
	c := h2.New(e)
	c.Open(0, r)
	buffer := make([]byte, 64<<10)
	for !e.done {
		for len(c.Output()) > 0 {
			n, err := conn.Write(c.Output())
			if err != nil {
				return err
			}
			c.Sent(n)
		}
		n, err := conn.Read(buffer)
		if wrong := c.Feed(buffer[:n]); wrong != nil {
			return wrong
		}
		if err == io.EOF {
			err = response.ErrTruncated
		}
		if err != nil && !e.done {
			return err
		}
	}
	return e.err
}
