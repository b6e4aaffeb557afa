// Command http-go-common is three HTTP servers on Go's standard library: a page by net/http, the
// same page by TCP alone, and the files of a folder by http.FileServer. Each does the work of the
// other HTTP subjects.
//
// Limitations: a request that takes longer than a second and a half after SIGTERM is cut off.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// drainTime is how long requests under way may take after SIGTERM.
const drainTime = 1500 * time.Millisecond

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		die(2, err)
	}
	var listen net.ListenConfig
	listen.SetMultipathTCP(false) // all subjects listen with TCP
	l, err := listen.Listen(context.Background(), "tcp", c.listen)
	if err != nil {
		die(1, err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	switch c.way {
	case "nethttp":
		serve(ctx, l, c, &handler{page: newPage(ctx, c)})
	case "raw":
		serveRaw(ctx, l, newPage(ctx, c))
	case "fileserver":
		serve(ctx, l, c, files(c))
	}
}

func die(status int, err error) {
	fmt.Fprintln(os.Stderr, "http-go:", err)
	os.Exit(status)
}

// serve answers requests with net/http until ctx ends, and finishes the requests under way.
func serve(ctx context.Context, l net.Listener, c config, h http.Handler) {
	s := &http.Server{Handler: h}
	if c.cert != "" {
		go s.ServeTLS(l, c.cert, c.key) // ends with Shutdown
	} else {
		go s.Serve(l) // ends with Shutdown
	}
	<-ctx.Done()
	deadline, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if s.Shutdown(deadline) != nil {
		s.Close()
	}
}
