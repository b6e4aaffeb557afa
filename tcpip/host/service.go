package host

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
)

// Service is what a host does at a TCP port.
type Service struct {
	Name string
	Port uint16

	// Serve takes connections until ctx ends, then ends them, closes l and returns nil. An error ends the host.
	Serve func(ctx context.Context, l net.Listener) error
}

// Echo sends back what comes (RFC 862).
func Echo(port uint16) Service {
	return Service{"echo", port, each(func(c net.Conn) {
		if _, err := io.Copy(c, reader{c}); err == nil {
			closeWrite(c)
		}
	})}
}

// Discard reads all, and closes when the peer does (RFC 863).
func Discard(port uint16) Service {
	return Service{"discard", port, each(func(c net.Conn) {
		io.Copy(io.Discard, reader{c}) //nolint:errcheck // the peer's to end, in whatever way
	})}
}

// Source sends without end, letters and digits, until the peer goes away (in the manner of RFC 864).
func Source(port uint16) Service {
	lines := make([]byte, 0, 64<<10)
	for len(lines) < cap(lines) {
		lines = append(lines, rand.Text()[:15]+"\n"...)
	}
	return Service{"source", port, each(func(c net.Conn) {
		for {
			if _, err := c.Write(lines); err != nil {
				return
			}
		}
	})}
}

// reader hides what else a connection can do, so that io.Copy uses a buffer of its own size.
type reader struct{ io.Reader }

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		c.CloseWrite() //nolint:errcheck // it is
	}
}

// each serves each connection by a goroutine, which ends with its connection: at the latest when ctx ends.
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
