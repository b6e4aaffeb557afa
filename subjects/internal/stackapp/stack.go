package stackapp

import (
	"context"
	"net"
)

// The ports of the services.
const (
	Echo    = 7  // sends back what comes, at once
	Discard = 9  // reads all, closes when the peer has
	Source  = 19 // sends until the connection breaks
)

// Stack is what the application needs of a stack. Its functions may be called by several
// goroutines.
type Stack struct {
	Listen func(port int) (net.Listener, error) // on the stack's own address
	// to the stack's own address; nil: there is no inside. Its connections have CloseWrite
	Dial func(ctx context.Context, port int) (net.Conn, error)
	// after the application is done with it; nil: nothing to close
	Close func() error
	// ports on which the stack answers by itself, in place of a service from here
	Served []int
}
