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
	listen   string
	overHTTP bool   // by net/http's HTTP/2
	cert     string // PEM files of TLS; empty: no TLS
	key      string
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("grpc-go", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.listen, "listen", "", "")
	f.StringVar(&c.cert, "cert", "", "")
	f.StringVar(&c.key, "key", "", "")
	f.BoolVar(&c.overHTTP, "net-http", false, "")
	workload := f.String("workload", "", "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case *workload != "grpc":
		return c, fmt.Errorf("--workload must be grpc, not %q", *workload)
	case (c.cert == "") != (c.key == ""):
		return c, errors.New("TLS needs both --cert FILE and --key FILE")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return c, fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return c, nil
}
