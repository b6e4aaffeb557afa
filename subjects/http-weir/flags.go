package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"weir/flow"
	"weir/serve"
	"weir/web/server"
)

// config holds the parsed command line.
type config struct {
	way      flow.Way
	engine   string    // of HTTP/1: server.NetHTTP or server.HTTP1
	model    serve.Way // of the connections; with server.NetHTTP only serve.Goroutine
	listen   string
	workload string        // page, files or proxy
	www      string        // the served folder; empty with proxy
	upstream string        // HOST:PORT that proxy forwards to
	sleep    time.Duration // of each request whose number is a multiple of every
	every    int64         // 0: none
	filters  int           // number of components that pass everything through
	piped    bool          // these components copy the body through an io.Pipe
	gzip     bool
	cert     string // PEM files of TLS; empty: plain HTTP
	key      string
}

// parse reads the command line. Its errors are one sentence each.
func parse(args []string) (c config, err error) {
	f := flag.NewFlagSet("http-weir", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	way := f.String("way", "chain", "")
	f.StringVar(&c.engine, "engine", server.NetHTTP, "")
	model := f.String("model", serve.Goroutine.String(), "")
	f.StringVar(&c.listen, "listen", "", "")
	f.StringVar(&c.workload, "workload", "", "")
	f.StringVar(&c.www, "www", "", "")
	f.StringVar(&c.upstream, "upstream", "", "")
	f.StringVar(&c.cert, "cert", "", "")
	f.StringVar(&c.key, "key", "", "")
	f.IntVar(&c.filters, "filters", 0, "")
	f.BoolVar(&c.piped, "piped", false, "")
	f.Int64Var(&c.every, "sleep-every", 0, "")
	sleepMS, gzip := f.Int("sleep-ms", 0, ""), f.Int("gzip", 0, "")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.way, c.gzip, c.sleep = flow.Way(*way), *gzip == 1, time.Duration(*sleepMS)*time.Millisecond
	if c.model, err = serve.ParseWay(*model); err != nil {
		return c, err
	}
	return c, c.check(f.Args(), *gzip)
}

func (c config) check(rest []string, gzip int) error {
	_, port, err := net.SplitHostPort(c.listen)
	n, bad := strconv.Atoi(port)
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case c.way != flow.Chain && c.way != flow.Network:
		return fmt.Errorf("--way must be chain or network, not %q", c.way)
	case c.workload != "page" && c.workload != "files" && c.workload != "proxy":
		return fmt.Errorf("--workload must be page, files or proxy, not %q", c.workload)
	case c.workload == "proxy" && c.upstream == "":
		return errors.New("--upstream HOST:PORT is missing")
	case c.workload != "proxy" && c.www == "":
		return errors.New("--www DIR is missing")
	case (c.cert == "") != (c.key == ""):
		return errors.New("TLS needs both --cert FILE and --key FILE")
	case c.sleep < 0 || c.every < 0 || c.filters < 0 || gzip < 0 || gzip > 1:
		return errors.New("--sleep-ms, --sleep-every and --filters must be at least 0, --gzip 0 or 1")
	case err != nil || bad != nil || n < 1 || n > 65535:
		return fmt.Errorf("--listen must be HOST:PORT with a port from 1 to 65535, not %q", c.listen)
	}
	return nil
}
