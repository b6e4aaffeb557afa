// Command stack-weir is Weir's own TCP/IP stack as a subject: a host on a TAP device with the
// services of a stack under test. The folders stack-weir-chain, stack-weir-network,
// stack-weir-serve and stack-weir-plain build it and differ in flags alone.
//
// Limitations: it takes one queue of the device.
package main

import (
	"context"
	"flag"
	"net"
	"net/netip"
	"strconv"

	"weir/subjects/internal/stackapp"
	"weir/tcpip"
	"weir/tcpip/link"
)

// options are the flags that only this stack has.
type options struct {
	run string // chain or network
	// run echo and discard as sessions in the goroutine that reads the device, without goroutines
	// of their own
	serve bool
}

func main() {
	var w options
	own := func(f *flag.FlagSet) {
		f.StringVar(&w.run, "run", string(tcpip.RunChain), "")
		f.BoolVar(&w.serve, "serve", false, "")
	}
	stackapp.Main(own, w.open)
}

// open makes a host: on the TAP device, or, inside, on the stack's own loopback.
func (w *options) open(o stackapp.Options) (stackapp.Stack, error) {
	c := tcpip.Config{Run: tcpip.Run(w.run)}
	if o.Inside() {
		return w.host(c, netip.AddrFrom4([4]byte{127, 0, 0, 1}), stackapp.Echo)
	}
	tap, err := link.OpenTap(link.TapConfig{Name: o.TAP, Plain: !o.Offload, MTU: o.MTU})
	if err != nil {
		return stackapp.Stack{}, err
	}
	c.Link, c.Addrs = tap, []netip.Prefix{o.Addr}
	return w.host(c, o.Addr.Addr(), stackapp.Echo, stackapp.Discard)
}

// host makes a stack with its services at the address. The services on the given ports may be
// sessions.
func (w *options) host(c tcpip.Config, at netip.Addr, small ...int) (app stackapp.Stack, err error) {
	s, err := tcpip.New(c)
	if err != nil {
		return app, err
	}
	address := func(port int) string { return net.JoinHostPort(at.String(), strconv.Itoa(port)) }
	app = stackapp.Stack{
		Listen: func(port int) (net.Listener, error) { return s.Listen("tcp", address(port)) },
		Dial:   func(ctx context.Context, port int) (net.Conn, error) { return s.DialContext(ctx, "tcp", address(port)) },
		Close:  s.Close,
	}
	if !w.serve {
		return app, nil
	}
	for _, port := range small {
		// the stack's Close ends it
		if _, err := s.Serve(address(port), services[port], sessionOptions); err != nil {
			return app, err
		}
	}
	app.Served = small
	return app, nil
}
