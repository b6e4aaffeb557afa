package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"weir/internal/certificate"
	"weir/web/internal/client"
	"weir/web/internal/conn"
)

// acceptTLS accepts connections until the listener closes or ctx ends, and starts a handshake in a
// goroutine for each. The protocol must be known before net/http gets the connection: net/http
// detects HTTP/2 only on a *tls.Conn, and HTTP/1 must be wrapped for the watch.
func (s *Server) acceptTLS(ctx context.Context, first, second *handoffListener) error {
	var handshakes sync.WaitGroup
	defer handshakes.Wait()
	for pause := time.Duration(0); ; {
		line, err := s.listener.accept()
		switch {
		case err == nil:
			pause = 0
			handshakes.Go(func() { s.handshake(ctx, line, first, second) })
		case !isTemporary(err):
			return err
		default: // such as no free file descriptor: wait, as net/http does
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.faults.Say("accept", fmt.Sprintf("server: %v; accepting again in %v", err, pause))
			sleep(ctx, pause)
		}
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handshake performs the TLS handshake and passes the connection to the engine for the negotiated
// protocol. The watch closes it if the client takes too long.
func (s *Server) handshake(ctx context.Context, line *conn.Line, first, second *handoffListener) {
	line.Await()
	t := tls.Server(line, s.certs.config)
	if err := t.HandshakeContext(ctx); err != nil {
		s.rejectHandshake(line, err)
		line.Close()
		return
	}
	line.Arrived()
	switch t.ConnectionState().NegotiatedProtocol {
	case "h2":
		line.Use()
		second.handOff(t)
	case certificate.Challenge:
		t.Close() // the certificate was the answer to the challenge
	default:
		if s.engine != nil {
			first.handOff(t)
			return
		}
		first.handOff(line.Over(t))
	}
}

// rejectHandshake reports a failed handshake, and answers a client that speaks HTTP without TLS.
func (s *Server) rejectHandshake(line *conn.Line, err error) {
	rejectPlainHTTP(err)
	address := line.RemoteAddr().String()
	s.faults.Say("TLS "+client.Network(address).String(), fmt.Sprintf("server: TLS handshake with %v: %v", address, err))
}

// rejectPlainHTTP answers a client that speaks HTTP without TLS.
func rejectPlainHTTP(err error) {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || record.Conn == nil {
		return
	}
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET"} {
		if strings.HasPrefix(string(record.RecordHeader[:]), method) {
			record.Conn.SetWriteDeadline(time.Now().Add(time.Second))
			io.WriteString(record.Conn, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nThis is an HTTPS server: use https://.\n")
			return
		}
	}
}
