package host

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync"
	"time"

	"weir/serve"
)

// Service is what a host does at a TCP port: either sessions or Serve.
type Service struct {
	Name string
	Port uint16

	// Sessions are run in the goroutines that read the link, without another one for each
	// connection: for what answers from memory.
	Sessions serve.Service

	// Serve takes connections until ctx ends, then ends them, closes l and returns nil. An error
	// ends the host.
	Serve func(ctx context.Context, l net.Listener) error
}

// Echo sends back what comes (RFC 862).
func Echo(port uint16) Service {
	return Service{Name: "echo", Port: port, Sessions: serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}}
}

// Discard reads all, and closes when the peer does (RFC 863).
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

// Wake implements serve.Session. Nothing is waited for.
func (discard) Wake(time.Time, *serve.Writer) error { return nil }

// Close implements serve.Session.
func (discard) Close(error) {}

// sessionRead is how much a session is given at once.
const sessionRead = 64 << 10

// Source sends without end, letters and digits, until the peer goes away (in the manner of RFC 864).
func Source(port uint16) Service {
	lines := make([]byte, 0, 64<<10)
	for len(lines) < cap(lines) {
		lines = append(lines, rand.Text()[:15]+"\n"...)
	}
	return Service{Name: "source", Port: port, Serve: each(func(c net.Conn) {
		for {
			if _, err := c.Write(lines); err != nil {
				return
			}
		}
	})}
}

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		c.CloseWrite() //nolint:errcheck // it is
	}
}

// each serves each connection by a goroutine, which ends with its connection: at the latest when
// ctx ends.
func each(serve func(net.Conn)) func(context.Context, net.Listener) error {
	return func(ctx context.Context, l net.Listener) error {
		defer context.AfterFunc(ctx, func() { l.Close() })()
		var open sync.WaitGroup
		defer open.Wait()
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			if err != nil {
				return err
			}
			open.Go(func() {
				defer context.AfterFunc(ctx, func() { c.Close() })()
				defer c.Close()
				serve(c)
			})
		}
	}
}
