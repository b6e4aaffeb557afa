// Command go-serve is the Go server under test: one sink and one echo, run by package serve in the way that
// --way names. The folders go-goroutine, go-pool, go-loop, go-coroutine, go-prefork and go-process build it
// and differ in that flag alone.
//
// Limitations: what it does with a message is as plain as the comparison needs; it is no example of a
// service. The example is the session in session.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"weir/serve"
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-serve:", err)
		os.Exit(2)
	}
	if err := run(c); err != nil && !errors.Is(err, serve.ErrDeadline) {
		fmt.Fprintln(os.Stderr, "go-serve:", err)
		os.Exit(1)
	}
}

func run(c config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	o := serve.Options{Loops: c.loops, Width: c.width, Read: readSize, Drain: 1200 * time.Millisecond,
		Inherited: c.child, Child: c.childArgs()}
	if serve.Ways[c.way].Linux { // event loops
		// One for each loop and one for the rest of the program: more would not be used.
		runtime.GOMAXPROCS(c.loops + 1)
	}
	if c.way == serve.Prefork && o.Width == 0 {
		o.Width = max(2, runtime.NumCPU()) // one alone would not be pre-forked processes
	}
	var l net.Listener
	if !c.child {
		var err error
		if l, err = net.Listen("tcp", c.listen); err != nil {
			return err
		}
	}
	job := &job{config: c, put: standardOutput()}
	if c.way == serve.Coroutine {
		return serve.RunBlocking(ctx, c.way, l, serve.Handler{Handle: job.handle, State: serve.PerConnection}, o)
	}
	return serve.Run(ctx, c.way, l, serve.Service{Open: job.open, State: serve.PerConnection}, o)
}
