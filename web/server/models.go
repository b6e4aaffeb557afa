package server

import (
	"fmt"

	"weir/serve"
)

// Engines of HTTP/1.
const (
	HTTP1   = "http1"   // that of this module
	NetHTTP = "nethttp" // net/http's
)

// Engines returns the names of the engines of HTTP/1, the default first.
func Engines() []string { return []string{HTTP1, NetHTTP} }

// Unsupported returns why an engine cannot serve HTTP/1 by a concurrency model, or nil if it can.
// The empty name is the default engine.
func Unsupported(engine string, model serve.Way) error {
	switch {
	case engine != "" && engine != HTTP1 && engine != NetHTTP:
		return fmt.Errorf("server: there is no engine %q: choose %s or %s", engine, HTTP1, NetHTTP)
	case model < 0 || int(model) >= len(serve.Ways):
		return fmt.Errorf("server: there is no concurrency model %d", int(model))
	case engine == NetHTTP && model != serve.Goroutine:
		return fmt.Errorf("server: net/http starts a goroutine for each connection, and does not run by %s: choose the engine %s", model, HTTP1)
	}
	return nil
}
