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
	gzip   bool
	cert   string // PEM files of TLS; empty: plain HTTP
	key    string
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("http-fasthttp", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.listen, "listen", "", "")
	f.StringVar(&c.www, "www", "", "")
	f.StringVar(&c.cert, "cert", "", "")
	f.StringVar(&c.key, "key", "", "")
	workload := f.String("workload", "", "")
	gzip := f.Int("gzip", 0, "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.gzip = *gzip == 1
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case *workload != "files":
		return c, fmt.Errorf("--workload must be files, not %q", *workload)
	case c.www == "":
		return c, errors.New("--www DIR is missing")
	case (c.cert == "") != (c.key == ""):
		return c, errors.New("TLS needs both --cert FILE and --key FILE")
	case *gzip < 0 || *gzip > 1:
		return c, errors.New("--gzip must be 0 or 1")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return c, fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return c, nil
}
