// Command http-fasthttp serves the files of a folder by fasthttp.
//
// Limitations: fasthttp keeps opened files for one to one and a half seconds, so it notices a
// changed file that much later.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// most threads that compute at once, as in every server of the workload files
	workers = 2
	// how long requests under way may take after SIGTERM
	finishing = 1500 * time.Millisecond
	level     = 6 // compression level
	// how long an opened file is kept, as in the other servers; the library's default is 10 s
	fresh = time.Second
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		die(2, err)
	}
	runtime.GOMAXPROCS(min(workers, runtime.GOMAXPROCS(0)))
	var listen net.ListenConfig
	listen.SetMultipathTCP(false) // all subjects listen with TCP
	l, err := listen.Listen(context.Background(), "tcp", c.listen)
	if err != nil {
		die(1, err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	s := &fasthttp.Server{Handler: files(c), CloseOnShutdown: true, Logger: quiet{}}
	if c.cert != "" {
		go s.ServeTLS(l, c.cert, c.key) // ends with Shutdown
	} else {
		go s.Serve(l) // ends with Shutdown
	}
	<-ctx.Done()
	deadline, cancel := context.WithTimeout(context.Background(), finishing)
	defer cancel()
	_ = s.ShutdownWithContext(deadline) // unfinished requests are then cut off
}

func die(status int, err error) {
	fmt.Fprintln(os.Stderr, "http-fasthttp:", err)
	os.Exit(status)
}

// files serves a folder as fasthttp does, compressed if requested.
func files(c config) fasthttp.RequestHandler {
	fs := &fasthttp.FS{Root: c.www, AcceptByteRange: true, CacheDuration: fresh}
	if c.gzip {
		return fasthttp.CompressHandlerLevel(fs.NewRequestHandler(), level)
	}
	return fs.NewRequestHandler()
}

// quiet discards the log: errors of clients are expected.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
