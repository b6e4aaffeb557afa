// Command go-serve is the Go server under test: one sink and one echo, run by package serve under
// the concurrency model that --way names. The folders go-goroutine, go-pool, go-loop, go-coroutine,
// go-prefork and go-process build it and differ in that flag alone.
//
// The models loop and prefork call the state machine in session.go. All others run the same work in
// blocking style, in handler.go.
//
// Limitations: its work for a message is only as large as the comparison needs; it is no example of
// a service.
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
	o := serve.Options{Loops: c.loops, Workers: c.width, ReadSize: readSize, DrainTimeout: 1200 * time.Millisecond,
		IsChild: c.child, ChildCommand: c.childArgs()}
	if serve.Ways[c.way].LinuxOnly { // event loops
		// One P for each loop and one for the rest of the program: more would not be used.
		runtime.GOMAXPROCS(c.loops + 1)
	}
	if c.way == serve.Prefork && o.Workers == 0 {
		o.Workers = max(2, runtime.NumCPU()) // one process would be no pre-forking
	}
	var l net.Listener
	if !c.child {
		var err error
		if l, err = listen(c.listen); err != nil {
			return err
		}
	}
	job := &job{config: c, put: standardOutput()}
	if c.way == serve.Loop || c.way == serve.Prefork {
		return serve.Run(ctx, c.way, l, serve.Service{Open: job.open, State: serve.PerConnection}, o)
	}
	return serve.RunBlocking(ctx, c.way, l, serve.Handler{Handle: job.handle, State: serve.PerConnection}, o)
}

// listen listens with TCP, as all subjects do: Go would use MPTCP where the kernel supports it.
func listen(address string) (net.Listener, error) {
	var l net.ListenConfig
	l.SetMultipathTCP(false)
	return l.Listen(context.Background(), "tcp", address)
}
