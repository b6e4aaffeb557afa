// Package host runs a host in user space on one or more TAP or TUN devices. It sets up the devices
// and the kernel's addresses on them, runs the stack and services at its ports, and records and
// impairs the links. Other programs use the running host by a control socket.
//
//	addrs := []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}
//	links := []host.Link{{Name: "weir0", Addrs: addrs}}
//	echo := []host.Service{host.Echo(7)}
//	h, err := host.Start(ctx, host.Config{Links: links, Services: echo})
//	defer h.Close()
//	err = h.Run(ctx)
//
// Received frames pass through these, if the config asks for them:
//
//	device ──> Capture ──> Impair ──> stack ──> services
//
// So a capture shows the frames on the wire. It has a received frame that Impair then loses, but
// not a sent frame that Impair has lost.
//
// # The control socket
//
// It is a unix socket that only its owner may use. A connection carries one request, a line of
// JSON, and its answer, a line of JSON. If the request is for a connection of the stack, its data
// follows in both directions, as chunks (chunk.go). Chunks preserve datagrams, and distinguish a
// reset from an orderly end. [Client] is the other end. The size of messages and the number of
// clients are limited. A request ends when its client disconnects.
//
// # Goroutines
//
// Run has one for each service without sessions, and one for the control socket's listener. Each
// connection of a service or of a client has one or two. All have ended when Close returns.
//
// # Limitations
//
// Linux only, like TAP devices. A host ends when one of its devices is removed; links cannot be
// added while it runs. If the process is killed, what Setup made stays. The next host uses it, but
// does not remove it. A client of the control socket may do everything that the host can.
package host
