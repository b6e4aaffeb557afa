package server

import (
	"context"

	"weir/web/internal/conn"
)

// Stopping returns a channel that is closed when the server of the request with this context starts
// to shut down, also in a child process. A response that would wait or stream for longer than the
// drain should then end by itself. The channel is nil, which is never closed, for a request of
// another server.
func Stopping(ctx context.Context) <-chan struct{} { return conn.Stopping(ctx) }
