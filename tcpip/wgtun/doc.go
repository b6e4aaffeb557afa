// Package wgtun runs WireGuard in a program, without a device of the kernel: wireguard-go encrypts,
// and Weir's stack is the host behind the tunnel. It has the functions and methods of
// wireguard-go's package tun/netstack, which does the same by gVisor's stack: a program changes one
// import.
//
//	tun, network, err := wgtun.CreateNetTUN(addresses, dnsServers, 1420)
//	wireguard := device.NewDevice(tun, conn.NewDefaultBind(), logger)
//	...
//	connection, err := network.Dial("tcp", "10.0.0.1:80")
//
// The types of connections are those of package tcpip. They have the methods of net.TCPConn,
// net.TCPListener and net.UDPConn but those that need a file descriptor.
//
// # Goroutines
//
// While the stack's reader sleeps, a packet is processed in the goroutine of WireGuard that
// delivers it, up to the wake-up of the application (link.DirectWriter). That goroutine waits for
// no application: a connection that is not read closes its window. It waits only while 256 KB are
// queued for the stack. Sessions of Stack.Serve and timers run in the stack's own goroutine.
//
// # Memory
//
// WireGuard keeps each packet that it has not sent yet in a buffer of 64 KB, about 45 times the
// packet's size. So a connection's send buffer is limited to 1 MiB here: it sends 80 Mbit/s over a
// path of 100 ms. [Options] sets another limit.
//
// # Limitations
//
// A device has one queue. Ping sockets exchange echo requests and replies, no other messages.
package wgtun
