package stackapp

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Options are the flags of every adapter.
type Options struct {
	TAP     string       // the device; empty if the stack needs none
	Addr    netip.Prefix // the stack's address, with the length of its network
	MTU     int          // bytes
	Offload bool         // superframes and checksums by the device
	Cores   int          // CPU cores to use; 0: the runtime's choice

	inside InsideConfig // its Operation is empty to serve
}

// endTimeout is how long the end may take after a signal; then the program exits in any case.
const endTimeout = 1500 * time.Millisecond

// Main is the program of an adapter: it reads the flags, opens the stack, serves or measures
// inside, and exits. own adds flags that only this adapter has; nil: none. Exit status: 0 success,
// 1 a failure, 2 wrong flags.
func Main(own func(*flag.FlagSet), open func(Options) (Stack, error)) {
	o, err := parse(os.Args[1:], own)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if o.Cores > 0 {
		runtime.GOMAXPROCS(o.Cores)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o, open, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string, own func(*flag.FlagSet)) (o Options, err error) {
	f := flag.NewFlagSet("stack", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.TAP, "tap", "", "")
	addr, offload := f.String("addr", "10.77.0.2/24", ""), f.String("offload", "on", "")
	f.IntVar(&o.MTU, "mtu", 1500, "")
	f.IntVar(&o.Cores, "cores", 0, "")
	f.StringVar(&o.inside.Operation, "inside", "", "")
	f.IntVar(&o.inside.Connections, "connections", 1, "")
	f.DurationVar(&o.inside.Duration, "duration", 5*time.Second, "")
	f.DurationVar(&o.inside.Warm, "warm", 0, "")
	if own != nil {
		own(f)
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.Offload = *offload == "on"
	var bad error
	o.Addr, bad = netip.ParsePrefix(*addr)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case bad != nil:
		return o, fmt.Errorf("--addr must be an address with the length of its network, as 10.77.0.2/24 or fd00:77::2/64, not %q", *addr)
	case *offload != "on" && *offload != "off":
		return o, fmt.Errorf("--offload must be on or off, not %q", *offload)
	case o.MTU < 68 || o.MTU > 65535:
		return o, fmt.Errorf("--mtu must be from 68 to 65535, not %d", o.MTU)
	case o.Cores < 0 || o.Cores > 1024:
		return o, fmt.Errorf("--cores must be from 0 to 1024, not %d", o.Cores)
	case o.inside.Operation != "":
		return o, o.inside.check()
	}
	return o, nil
}

// run serves or measures until ctx ends.
func run(ctx context.Context, o Options, open func(Options) (Stack, error), out io.Writer) (err error) {
	s, err := open(o)
	if err != nil {
		return err
	}
	if s.Close != nil {
		defer func() { err = errors.Join(err, within(endTimeout, s.Close)) }()
	}
	if o.inside.Operation != "" {
		report, err := Inside(ctx, o.inside, s)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(report)
	}
	services, err := Serve(s)
	if err != nil {
		return err
	}
	defer services.Close()
	orders := make(chan os.Signal, 4) // the runtime -> here; further signals are merged
	signal.Notify(orders, syscall.SIGUSR1)
	defer signal.Stop(orders)
	fmt.Fprintln(out, "ready")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-orders:
			if err := json.NewEncoder(out).Encode(ReadCollector()); err != nil {
				return err
			}
		}
	}
}

// Inside reports whether the program measures its own loopback instead of serving clients.
func (o Options) Inside() bool { return o.inside.Operation != "" }

// within calls f and waits at most d for it: then the program exits, and f's goroutine with it.
func within(d time.Duration, f func() error) error {
	ended := make(chan error, 1) // f's goroutine -> here
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(d):
		return fmt.Errorf("the stack was not closed within %v", d)
	}
}
