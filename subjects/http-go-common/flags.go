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
	way    string // "nethttp", "raw", "fileserver"
	listen string
	www    string        // the served folder
	sleep  time.Duration // of each request whose number is a multiple of every
	every  int64         // 0: none
	gzip   bool
	cert   string // PEM files of TLS; empty: plain HTTP
	key    string
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("http-go", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.way, "way", "nethttp", "")
	f.StringVar(&c.listen, "listen", "", "")
	f.StringVar(&c.www, "www", "", "")
	f.StringVar(&c.cert, "cert", "", "")
	f.StringVar(&c.key, "key", "", "")
	workload := f.String("workload", "", "")
	sleepMS := f.Int("sleep-ms", 0, "")
	f.Int64Var(&c.every, "sleep-every", 0, "")
	gzip := f.Int("gzip", 0, "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.sleep, c.gzip = time.Duration(*sleepMS)*time.Millisecond, *gzip == 1
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	serves := map[string]string{"nethttp": "page", "raw": "page", "fileserver": "files"}[c.way]
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case serves == "":
		return c, fmt.Errorf("--way must be nethttp, raw or fileserver, not %q", c.way)
	case *workload != serves:
		return c, fmt.Errorf("--workload must be %s, not %q", serves, *workload)
	case c.www == "":
		return c, errors.New("--www DIR is missing")
	case (c.cert == "") != (c.key == ""):
		return c, errors.New("TLS needs both --cert FILE and --key FILE")
	case c.cert != "" && c.way == "raw":
		return c, errors.New("--way raw has no TLS: leave --cert and --key out")
	case c.sleep < 0 || c.every < 0 || *gzip < 0 || *gzip > 1:
		return c, errors.New("--sleep-ms and --sleep-every must be at least 0, --gzip 0 or 1")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return c, fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return c, nil
}
