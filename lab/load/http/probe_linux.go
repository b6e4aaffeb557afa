package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"time"

	"weir/lab/load/http/response"
	"weir/lab/load/internal/raw"
)

// maxLearned is the largest size of an expected body that is taken from the server.
const maxLearned = 256 << 20

// probeServer connects to the server once, and returns its address and the expected body:
// Config.Expect, or the body of the response to one request.
func probeServer(ctx context.Context, c Config) (addr string, want *bodies, err error) {
	target, err := c.address()
	if err != nil {
		return "", nil, err
	}
	conn, err := raw.NewDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return "", nil, raw.DialError(target, err)
	}
	defer conn.Close()
	addr, want = conn.RemoteAddr().String(), &bodies{want: c.Expect, gzip: c.Gzip}
	if c.Expect != nil {
		return addr, want, nil
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // it is open
	defer stop()
	conn.SetDeadline(time.Now().Add(c.timeout())) //nolint:errcheck // it is open
	if err := learn(conn, c, want); err != nil {
		return "", nil, fmt.Errorf("load: the first response of %s, with which the others are compared, is invalid: %w", c.URL, errors.Join(ctx.Err(), err))
	}
	return addr, want, nil
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
