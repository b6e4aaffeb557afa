package main

import (
	"flag"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// config is what the command line says.
type config struct {
	tap     string
	addr    netip.Prefix
	mtu     int
	offload bool
	cores   int

	inside      string // connect, bulk or rr; empty: a host on a TAP device
	connections int
	duration    time.Duration
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("stack-gvisor", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.tap, "tap", "", "")
	f.TextVar(&c.addr, "addr", netip.MustParsePrefix("10.77.0.2/24"), "")
	f.IntVar(&c.mtu, "mtu", 1500, "")
	f.IntVar(&c.cores, "cores", 0, "")
	f.StringVar(&c.inside, "inside", "", "")
	f.IntVar(&c.connections, "connections", 1, "")
	f.DurationVar(&c.duration, "duration", time.Second, "")
	offload := f.String("offload", "on", "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.offload = *offload == "on"
	return c, c.check(f.Args(), *offload)
}

func (c config) check(rest []string, offload string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.inside == "" && (c.tap == "" || len(c.tap) > 15):
		return fmt.Errorf("--tap must be the name of a device, at most 15 bytes, not %q", c.tap)
	case !c.addr.IsValid() || !c.addr.Addr().Is4():
		return fmt.Errorf("--addr must be an IPv4 address with the length of its network, such as 10.77.0.2/24, not %v", c.addr)
	case c.mtu < 576 || c.mtu > 65535:
		return fmt.Errorf("--mtu must be from 576 to 65535, not %d", c.mtu)
	case offload != "on" && offload != "off":
		return fmt.Errorf("--offload must be on or off, not %q", offload)
	case c.cores < 0:
		return fmt.Errorf("--cores must be 0 or more, not %d", c.cores)
	case c.inside != "" && c.inside != "connect" && c.inside != "bulk" && c.inside != "rr":
		return fmt.Errorf("--inside must be connect, bulk or rr, not %q", c.inside)
	case c.connections < 1 || c.connections > 10_000:
		return fmt.Errorf("--connections must be from 1 to 10000, not %d", c.connections)
	case c.duration <= 0:
		return fmt.Errorf("--duration must be more than 0, not %v", c.duration)
	}
	return nil
}
