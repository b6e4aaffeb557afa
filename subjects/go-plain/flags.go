package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// config holds the parsed command line.
type config struct {
	listen     string
	echo       bool
	size       int           // bytes of a message
	work, wait time.Duration // computing and waiting time for each message
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("go-plain", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.listen, "listen", "", "")
	workload := f.String("workload", "sink", "")
	f.IntVar(&c.size, "size", 1000, "")
	workUS := f.Int("work-us", 0, "")
	waitMS := f.Int("wait-ms", 0, "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.echo = *workload == "echo"
	c.work, c.wait = time.Duration(*workUS)*time.Microsecond, time.Duration(*waitMS)*time.Millisecond
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case !c.echo && *workload != "sink":
		return c, fmt.Errorf("--workload must be sink or echo, not %q", *workload)
	case c.size < 1 || c.work < 0 || c.wait < 0:
		return c, errors.New("--size must be at least 1, --work-us and --wait-ms at least 0")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return c, fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return c, nil
}
