// Command stack-kernel is the kernel's own TCP/IP stack as a subject, with the services of a stack
// under test. Its address must be one of the network namespace that it runs in; it opens no device.
//
// Limitations: the application uses a Go goroutine for each connection, as on the stacks in user
// space.
package main

import (
	"net/netip"

	"weir/subjects/internal/stackapp"
)

func main() {
	stackapp.Main(nil, func(o stackapp.Options) (stackapp.Stack, error) {
		if o.Inside() {
			return stackapp.Kernel(netip.Addr{}), nil
		}
		return stackapp.Kernel(o.Addr.Addr()), nil
	})
}
