package stackapp

import (
	"context"
	"net"
)

// The ports of the services.
const (
	Echo    = 7  // echoes at once
	Discard = 9  // reads all input, closes after the peer
	Source  = 19 // sends until the connection breaks
)

// Stack is what the application needs of a stack. Several goroutines may call its functions.
type Stack struct {
	Listen func(port int) (net.Listener, error) // on the stack's own address
	// Dials the stack's own address. Nil: no measurement inside. The connections have CloseWrite.
	Dial func(ctx context.Context, port int) (net.Conn, error)
	// called after the application is done; nil: nothing to close
	Close func() error
	// ports whose service the stack provides itself
	Served []int
}
