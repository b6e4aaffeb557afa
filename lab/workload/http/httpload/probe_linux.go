package httpload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/internal/tlsclient"
	"weir/lab/load"
	"weir/lab/workload/http/httpload/response"
)

// probeServer connects to the server and returns it, with the parameters of TLS unless config is
// nil. It makes each request once whose first answer decides what is expected.
func probeServer(ctx context.Context, c Config, config *tls.Config, requests []*prepared) (server oneloop.Server, secured *TLSReport, err error) {
	probed := false
	for _, r := range requests {
		if !r.learned {
			continue
		}
		s, t, err := probe(ctx, c, config, r)
		if err != nil {
			return server, nil, err
		}
		if !probed {
			server, secured, probed = s, t, true
		}
	}
	if probed {
		return server, secured, nil
	}
	return probe(ctx, c, config, nil)
}

// probe opens a connection, and makes the request r on it, which may be nil.
func probe(ctx context.Context, c Config, config *tls.Config, r *prepared) (server oneloop.Server, secured *TLSReport, err error) {
	target, err := c.address()
	if err != nil {
		return server, nil, err
	}
	tcp, err := raw.NewDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return server, nil, raw.DialError(target, err)
	}
	defer tcp.Close()
	if server, err = oneloop.ParseServer(tcp.RemoteAddr().String()); err != nil {
		return server, nil, err
	}
	stop := context.AfterFunc(ctx, func() { tcp.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // it is open
	defer stop()
	tcp.SetDeadline(time.Now().Add(c.timeout())) //nolint:errcheck // it is open
	conn := tcp
	if config != nil {
		if conn, secured, err = handshake(ctx, tcp, target, config); err != nil {
			return server, nil, err
		}
		defer conn.Close()
	}
	if c.HTTP2 && secured != nil && secured.ALPN != alpnHTTP2 {
		return server, nil, fmt.Errorf("load: can't use HTTP/2 with %s: %w", target, errNoHTTP2)
	}
	if r == nil {
		if c.TLS.Resume {
			receiveTickets(conn, &c)
		}
		return server, secured, nil
	}
	if err := r.learn(conn); err != nil {
		return server, nil, fmt.Errorf("load: the first response of %s, with which the others are compared, is invalid: %w", c.URL, errors.Join(ctx.Err(), err))
	}
	return server, secured, nil
}

// receiveTickets makes a request for the server's session tickets, which come with its answer.
func receiveTickets(conn net.Conn, c *Config) {
	r := &Request{}
	if c.HTTP2 {
		(&exchange{}).run(conn, r.requestHTTP2(c)) //nolint:errcheck // only for the tickets
		return
	}
	if _, err := conn.Write(r.encode(c)); err == nil {
		var p response.Parser
		p.Begin(false)
		readAnswer(conn, &p) //nolint:errcheck // only for the tickets
	}
}

// handshake negotiates TLS on conn, and returns the encrypted connection and its parameters.
func handshake(ctx context.Context, conn net.Conn, target string, config *tls.Config) (net.Conn, *TLSReport, error) {
	t := tls.Client(conn, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf(load.CannotConnect+"%s: %w", target, errors.Join(ctx.Err(), tlsclient.HandshakeError(config.ServerName, err)))
	}
	return t, tlsclient.NewReport(t.ConnectionState(), config), nil
}

// learn makes the request p on conn, and takes the body of the answer as the expected one.
func (p *prepared) learn(conn net.Conn) error {
	if p.http2 != nil {
		var e exchange
		if err := e.run(conn, p.http2); err != nil {
			return err
		}
		if p.GRPC {
			return p.learnCall(&e)
		}
		return p.learnFrom(e.head.Status, e.text, e.head.Coding)
	}
	if _, err := conn.Write(p.wire); err != nil {
		return err
	}
	var a response.Parser
	a.Begin(p.isHead())
	text, err := readAnswer(conn, &a)
	if err != nil {
		return err
	}
	return p.learnFrom(a.Status, text, a.Coding)
}

// readAnswer reads one response and returns its body.
func readAnswer(r io.Reader, p *response.Parser) (text []byte, err error) {
	buffer := make([]byte, 64<<10)
	for !p.Done() {
		n, readErr := r.Read(buffer)
		for in := buffer[:n]; len(in) > 0 && !p.Done(); {
			taken, piece, err := p.Feed(in)
			if err != nil {
				return nil, err
			}
			text, in = append(text, piece...), in[taken:]
		}
		switch {
		case len(text) > maxLearned:
			return nil, fmt.Errorf("its body is larger than %d bytes: give the expected body as a file", maxLearned)
		case readErr == io.EOF:
			return text, p.End()
		case readErr != nil:
			return nil, readErr
		}
	}
	return text, nil
}
