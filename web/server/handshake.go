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

// accept takes connections until the gate closes, or ctx ends, and gives each a handshake of its
// own: net/http finds HTTP/2 only on a *tls.Conn and can be given HTTP/1 only by wrapping one, so
// it must be known which it is before net/http has the connection.
func (s *Server) accept(ctx context.Context, first, second *queue) error {
	var handshakes sync.WaitGroup
	defer handshakes.Wait()
	for pause := time.Duration(0); ; {
		line, err := s.gate.accept()
		switch {
		case err == nil:
			pause = 0
			handshakes.Go(func() { s.handshake(ctx, line, first, second) })
		case !temporary(err):
			return err
		default: // descriptors have run out, say: wait, as net/http does
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.faults.Say("accept", fmt.Sprintf("server: %v; accepting again in %v", err, pause))
			sleep(ctx, pause)
		}
	}
}

func temporary(err error) bool {
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

// handshake makes line a TLS connection and hands it to the engine for what was agreed on. The
// watch ends it when the client takes too long.
func (s *Server) handshake(ctx context.Context, line *conn.Line, first, second *queue) {
	line.Await()
	t := tls.Server(line, s.certs.config)
	if err := t.HandshakeContext(ctx); err != nil {
		refuse(err)
		line.Close()
		who := line.RemoteAddr().String()
		s.faults.Say("TLS "+client.Network(who).String(), fmt.Sprintf("server: TLS handshake with %v: %v", who, err))
		return
	}
	line.Arrived()
	switch t.ConnectionState().NegotiatedProtocol {
	case "h2":
		line.Use()
		second.put(t)
	case certificate.Challenge:
		t.Close() // the challenge was answered by the certificate
	default:
		first.put(line.Over(t))
	}
}

// refuse tells a client that speaks HTTP without TLS what is wrong.
func refuse(err error) {
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
