// Command stack-gvisor is gVisor's netstack as a host on a TAP device, with the services of a stack
// under test. Beside the flags of every adapter it has --link reader|channel, which selects one of
// two links between netstack and the device.
//
// Limitations: it uses one queue of the device.
package main

import (
	"errors"
	"flag"

	"weir/subjects/internal/stackapp"
)

func main() {
	kind := "reader"
	own := func(f *flag.FlagSet) {
		f.Func("link", "", func(s string) error {
			if s != "reader" && s != "channel" {
				return errors.New("it must be reader or channel")
			}
			kind = s
			return nil
		})
	}
	stackapp.Main(own, func(o stackapp.Options) (stackapp.Stack, error) { return open(o, kind) })
}
