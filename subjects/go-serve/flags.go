package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"weir/serve"
)

// config holds the parsed command line.
type config struct {
	listen   string
	echo     bool
	size     int           // bytes of a message
	work     time.Duration // computing time for each message
	wait     time.Duration // waiting time for each message
	way      serve.Way
	loops    int
	width    int
	child    bool
	original []string
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (config, error) {
	c := config{original: args}
	f := flag.NewFlagSet("go-serve", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.listen, "listen", "", "")
	workload := f.String("workload", "sink", "")
	f.IntVar(&c.size, "size", 1000, "")
	workUS := f.Int("work-us", 0, "")
	waitMS := f.Int("wait-ms", 0, "")
	way := f.String("way", "goroutine", "")
	f.IntVar(&c.loops, "loops", 1, "")
	f.IntVar(&c.width, "width", 0, "")
	f.BoolVar(&c.child, "child", false, "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	c.echo = *workload == "echo"
	if !c.echo && *workload != "sink" {
		return c, fmt.Errorf("--workload must be sink or echo, not %q", *workload)
	}
	c.work, c.wait = time.Duration(*workUS)*time.Microsecond, time.Duration(*waitMS)*time.Millisecond
	if c.size < 1 || c.work < 0 || c.wait < 0 || c.loops < 1 || c.width < 0 {
		return c, errors.New("--size and --loops must be at least 1, --work-us, --wait-ms and --width at least 0")
	}
	var err error
	if c.way, err = serve.ParseWay(*way); err != nil {
		return c, err
	}
	return c, checkAddress(c.listen)
}

func checkAddress(listen string) error {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen must be HOST:PORT, not %q", listen)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("--listen needs a port from 1 to 65535, not %q", port)
	}
	return nil
}

// childArgs returns the command line of a child process.
func (c config) childArgs() []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return append(append([]string{self}, c.original...), "--child")
}
