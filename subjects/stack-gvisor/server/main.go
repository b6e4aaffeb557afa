// Command stack-gvisor is gVisor's netstack as a host on a TAP device, with the services of a stack under test.
//
// Limitations: it takes one queue of the device.
package main

import "weir/subjects/internal/stackapp"

func main() { stackapp.Main(nil, open) }
