package httpload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"time"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/raw"
	"weir/lab/workload/http/httpload/response"
)

// maxLearned is the largest size of an expected body that is taken from the server.
const maxLearned = 256 << 20

// probeServer connects to the server once. It returns the server, the parameters of TLS
// unless config is nil, and the expected body: Config.Expect, or the body of the response to one
// request.
func probeServer(ctx context.Context, c Config, config *tls.Config) (server oneloop.Server, secured *TLSReport, want *bodies, err error) {
	target, err := c.address()
	if err != nil {
		return server, nil, nil, err
	}
	tcp, err := raw.NewDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return server, nil, nil, raw.DialError(target, err)
	}
	defer tcp.Close()
	if server, err = oneloop.ParseServer(tcp.RemoteAddr().String()); err != nil {
		return server, nil, nil, err
	}
	want = &bodies{want: c.Expect, gzip: c.Gzip}
	stop := context.AfterFunc(ctx, func() { tcp.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // it is open
	defer stop()
	tcp.SetDeadline(time.Now().Add(c.timeout())) //nolint:errcheck // it is open
	conn := tcp
	if config != nil {
		if conn, secured, err = handshake(ctx, tcp, target, config); err != nil {
			return server, nil, nil, err
		}
		defer conn.Close()
	}
	if c.Expect != nil {
		if c.TLS.Resume {
			learn(conn, c, &bodies{gzip: c.Gzip}) //nolint:errcheck // only for the server's session tickets
		}
		return server, secured, want, nil
	}
	if err := learn(conn, c, want); err != nil {
		return server, nil, nil, fmt.Errorf("load: the first response of %s, with which the others are compared, is invalid: %w", c.URL, errors.Join(ctx.Err(), err))
	}
	return server, secured, want, nil
}

// handshake negotiates TLS on conn, and returns the encrypted connection and its parameters.
func handshake(ctx context.Context, conn net.Conn, target string, config *tls.Config) (net.Conn, *TLSReport, error) {
	t := tls.Client(conn, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("load: can't connect to %s: %w", target, errors.Join(ctx.Err(), handshakeError(config.ServerName, err)))
	}
	return t, newTLSReport(t.ConnectionState(), config), nil
}

// learn makes one request and takes the body of its response as the expected one.
func learn(conn net.Conn, c Config, want *bodies) error {
	if _, err := conn.Write(c.request()); err != nil {
		return err
	}
	var p response.Parser
	p.Begin(false)
	text, err := readAnswer(conn, &p)
	switch {
	case err != nil:
		return err
	case p.Status != nethttp.StatusOK:
		return fmt.Errorf("status %d %s: give a URL with the status 200", p.Status, nethttp.StatusText(p.Status))
	case p.Coding == response.OtherCoding || p.Coding == response.Gzip && !c.Gzip:
		return errors.New("its body has a content coding that was not requested")
	}
	return want.learn(text, p.Coding)
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
