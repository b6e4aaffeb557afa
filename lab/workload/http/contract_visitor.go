package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"weir/lab/contract"
	"weir/lab/internal/tlsclient"
	"weir/lab/workload/http/httpload"
)

// visitor is a client on one connection. It is independent of the load generator.
type visitor interface {
	// ask makes a request and judges its answer. With last, the client asks the server to close the
	// connection.
	ask(r httpload.Request, last bool)
	Close() error
}

// The application protocols of TLS.
const (
	alpnHTTP1 = "http/1.1"
	alpnHTTP2 = "h2"
)

// tlsHello is the start of a TLS handshake: the header of a record that does not follow.
const tlsHello = "\x16\x03\x01\x02\x00"

// http2Start is the preface of a client of HTTP/2, with empty SETTINGS (RFC 9113, section 3.4).
const http2Start = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// scheme returns the scheme of the requests.
func (n Needs) scheme() string {
	if n.TLS {
		return "https"
	}
	return "http"
}

// visit opens a connection for requests.
func (n Needs) visit(b *bench) visitor {
	c := n.open(b)
	if !n.HTTP2 {
		return &visitor1{c, n.scheme()}
	}
	return newVisitor2(c, n.scheme())
}

// open connects, with a TLS handshake if the load needs it.
func (n Needs) open(b *bench) *conn {
	c := b.dial()
	if !n.TLS {
		return c
	}
	protocol := alpnHTTP1
	if n.HTTP2 {
		protocol = alpnHTTP2
	}
	secured := tls.Client(c.TCPConn, n.ClientConfig(b.Bench, protocol))
	if err := secured.HandshakeContext(b.Context); err != nil {
		contract.Must(tlsclient.HandshakeError(cmp.Or(n.ServerName, b.Params.Host), err))
	}
	chosen := secured.ConnectionState().NegotiatedProtocol
	contract.Expect(chosen == protocol || !n.HTTP2, "expected the server to choose HTTP/2 by ALPN, saw %q: turn HTTP/2 on in the server, or leave it out of the load", cmp.Or(chosen, "no protocol"))
	c.over(secured)
	return c
}

// newRequest returns the request as net/http sends it to a server at addr.
func newRequest(r httpload.Request, scheme, addr string) *http.Request {
	request, err := http.NewRequest(r.Method, scheme+"://"+addr+cmp.Or(r.Path, "/"), strings.NewReader(r.Body))
	contract.Must(err)
	for _, field := range r.Headers {
		name, value, _ := strings.Cut(field, ":")
		request.Header.Add(name, strings.TrimSpace(value))
		if strings.EqualFold(name, "Host") {
			request.Host = strings.TrimSpace(value)
		}
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "weir")
	}
	return request
}

// firstBytes returns the bytes by which a client starts: a request, or the preface of HTTP/2.
func (n Needs) firstBytes(b *bench) string {
	if n.HTTP2 {
		return http2Start
	}
	return requestText(n.Requests[0], n.scheme(), b.Addr(), true)
}

// requestText returns the request as it is sent to a server at addr. With last, the client asks the
// server to close the connection.
func requestText(r httpload.Request, scheme, addr string, last bool) string {
	request := newRequest(r, scheme, addr)
	request.Close = last
	var text strings.Builder
	contract.Must(request.Write(&text))
	return text.String()
}

// during runs f as the part of a check that makes the request.
func during(r httpload.Request, f func()) {
	contract.During(r.Method+" "+cmp.Or(r.Path, "/"), f)
}

// visitor1 is a client of HTTP/1.1.
type visitor1 struct {
	*conn
	scheme string
}

func (v *visitor1) ask(r httpload.Request, last bool) {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	during(r, func() {
		v.write(requestText(r, v.scheme, v.b.Addr(), last))
		a := v.read(r.Method)
		contract.Must(r.Judge(a.StatusCode, a.body))
		contract.Expect(v.in.Buffered() == 0, "expected nothing after the response, saw %d bytes", v.in.Buffered())
	})
}

// visitor2 is a client of HTTP/2: that of net/http on the connection. It makes gRPC calls too.
type visitor2 struct {
	*http.ClientConn
	c      *conn
	scheme string
}

// newVisitor2 starts HTTP/2 on a connection.
func newVisitor2(c *conn, scheme string) *visitor2 {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	opened := func(context.Context, string, string) (net.Conn, error) {
		if secured, ok := c.out.(*tls.Conn); ok {
			return secured, nil
		}
		return c.TCPConn, nil
	}
	transport := &http.Transport{Protocols: protocols, DialContext: opened, DialTLSContext: opened, DisableCompression: true}
	client, err := transport.NewClientConn(c.b.Context, scheme, c.b.Addr())
	contract.Expect(err == nil, "expected HTTP/2: %w", contract.DescribeError(err))
	return &visitor2{client, c, scheme}
}

func (v *visitor2) ask(r httpload.Request, _ bool) {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	write, judge := newRequest, judgeResponse
	if r.GRPC {
		r.Method, write, judge = http.MethodPost, newCall, judgeCall
	}
	during(r, func() {
		ctx, cancel := context.WithTimeout(v.c.b.Context, v.c.b.Timeout)
		defer cancel()
		a, err := v.RoundTrip(write(r, v.scheme, v.c.b.Addr()).WithContext(ctx))
		contract.Expect(err == nil, "expected a response by HTTP/2: %w", contract.DescribeError(err))
		defer a.Body.Close()
		body, err := v.c.b.readBody(a.Body)
		contract.Expect(len(body) <= maxBody, "expected a body of at most %d MiB, saw more", maxBody>>20)
		contract.Expect(err == nil, "expected a whole body, saw %d bytes: %w", len(body), contract.DescribeError(err))
		judge(r, a, body)
	})
}

// judgeResponse judges a response to an ordinary request.
func judgeResponse(r httpload.Request, a *http.Response, body []byte) {
	contract.Must(r.Judge(a.StatusCode, body))
}
