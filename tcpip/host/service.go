package host

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"weir/serve"
)

// Service is a service of a host at a TCP port. It has either Sessions or Serve.
type Service struct {
	Name string
	Port uint16

	// Sessions run in the goroutines that read the link, without a goroutine for each connection:
	// for services that answer from memory.
	Sessions serve.Service

	// Serve accepts connections until ctx ends. Then it ends them, closes l and returns nil. An
	// error ends the host.
	Serve func(ctx context.Context, l net.Listener) error
}

// Echo sends back what it receives (RFC 862).
func Echo(port uint16) Service {
	return Service{Name: "echo", Port: port, Sessions: serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}}
}

// Discard reads everything, and closes when the peer does (RFC 863).
func Discard(port uint16) Service {
	return Service{Name: "discard", Port: port, Sessions: serve.Service{Open: func(serve.Conn) serve.Session { return discard{} }}}
}

type echo struct{ discard }

// Input implements serve.Session.
func (echo) Input(in []byte, out *serve.Writer) error {
	_, err := out.Write(in)
	return err
}

type discard struct{}

// Input implements serve.Session.
func (discard) Input([]byte, *serve.Writer) error { return nil }

// Wake implements serve.Session. It is never called.
func (discard) Wake(time.Time, *serve.Writer) error { return nil }

// Close implements serve.Session.
func (discard) Close(error) {}

// sessionReadSize is the maximum of input that a session receives at once.
const sessionReadSize = 64 << 10

// Source sends letters and digits without end until the peer closes (similar to RFC 864).
func Source(port uint16) Service {
	lines := make([]byte, 0, 64<<10)
	for len(lines) < cap(lines) {
		lines = append(lines, rand.Text()[:15]+"\n"...)
	}
	return Service{Name: "source", Port: port, Sessions: serve.Service{Open: func(serve.Conn) serve.Session { return source{lines: lines} }}}
}

type source struct {
	discard
	lines []byte
}

// Stream implements tcpip.Streamer.
func (s source) Stream() ([]byte, error) { return s.lines, nil }

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		c.CloseWrite() //nolint:errcheck // it is
	}
}
