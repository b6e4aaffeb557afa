package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
)

// config holds the parsed command line.
type config struct {
	listen string
	www    string // the served folder
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("http-gnet", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.listen, "listen", "", "")
	f.StringVar(&c.www, "www", "", "")
	workload := f.String("workload", "", "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case *workload != "files":
		return c, fmt.Errorf("--workload must be files, not %q", *workload)
	case c.www == "":
		return c, errors.New("--www DIR is missing")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return c, fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return c, nil
}
