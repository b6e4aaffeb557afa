// Package host runs a host in user space on a TAP device: the device and the kernel's address on
// it, the stack, what is recorded and spoilt of its link, services at its ports, and a control
// socket by which other programs use it while it runs.
//
//	h, err := host.Start(host.Config{Tap: "weir0", Addr: netip.MustParsePrefix("10.0.0.2/24"), Setup: true, Services: []host.Service{host.Echo(7)}})
//	defer h.Close()
//	err = h.Run(ctx)
//
// Frames pass, on their way up, what the config asks for:
//
//	TAP device ──> Capture ──> Impair ──> stack ──> services
//
// so a capture shows what was on the wire: a frame that is lost on its way in was recorded, one
// that is lost on its way out was not.
//
// # The control socket
//
// It is a unix socket that only its owner may use. A connection carries one request: a line of
// JSON, answered by a line of JSON. Where the request is for a connection of the stack's, the bytes
// of it follow, in both directions, as chunks (chunk.go), so that a datagram stays one, and that a
// connection which was reset does not look like one that ended. [Client] is the other end. What a
// client may send and how many there may be is bounded; a client that goes away ends what it has
// asked for.
//
// # Goroutines
//
// Run owns one for each service that is not of sessions, and one for the control socket's listener;
// each connection of a service or of a client has one or two. All have ended when Close returns.
//
// # Limitations
//
// Linux only, as TAP devices are. What Setup made is left where the process is killed; it is then
// the next one's to use, and nobody's to remove. Who may use the control socket may do everything
// that the host can.
package host
