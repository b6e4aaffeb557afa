// Package guest makes a TAP or TUN device in a network namespace for a user-mode network outside
// it. A helper process enters the namespace, or makes one, configures the device there, and sends
// its descriptor back. It needs no privilege outside the namespace.
//
// The helper is this program, started with arguments of the caller's choice; it calls [Inside].
//
// # Limitations
//
// If this process is killed, so is the command, but not the processes that the command has started.
// It needs Linux, and to enter the namespace of another process the program nsenter of util-linux.
package guest

import (
	"errors"
	"net/netip"
)

// ErrReported is the error of Inside that Start returns too.
var ErrReported = errors.New("guest: the error was reported to the process outside")

// Config configures the device, and the namespace around it.
type Config struct {
	Device   string         // the device's name, at most 15 bytes
	Tun      bool           // it carries IP packets; false: Ethernet frames
	MTU      int            // its MTU in bytes
	Addrs    []netip.Prefix // addresses of the namespace on it
	Gateways []netip.Addr   // default routers
	// DNS servers that the command finds in /etc/resolv.conf; none: the file is this machine's.
	// With Command only
	DNS []netip.Addr

	// the process whose user and network namespaces are entered; 0: new ones are made for Command
	PID     int
	Command []string // the program to run in the new namespaces, and its arguments
}
