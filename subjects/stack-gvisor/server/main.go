// Command stack-gvisor is gVisor's netstack as a host on a TAP device, with the services of a stack under test.
//
// Limitations: it takes one queue of the device.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	c, err := parse(os.Args[1:])
	if err != nil {
		die(2, err)
	}
	if c.cores > 0 {
		runtime.GOMAXPROCS(c.cores)
	}
	if err := run(c); err != nil {
		die(1, err)
	}
}

func die(status int, err error) {
	fmt.Fprintln(os.Stderr, "stack-gvisor:", err)
	os.Exit(status)
}

func run(c config) error {
	ends, usr1 := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(usr1, syscall.SIGUSR1)
	h, err := newHost(c)
	if err != nil {
		return err
	}
	if err := h.serve(); err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		select {
		case <-usr1:
			if err := tell(os.Stdout); err != nil {
				return err
			}
		case <-ends:
			return nil
		}
	}
}
