// Command published-go is the Go program of the published comparison, rebuilt from its description:
// a goroutine per connection on a plain net.Listener, reads of up to 1,024 bytes, every byte of
// them escaped by %q, and one unbuffered write to standard output for each read.
//
// Limitations: as published it has no drain; SIGTERM ends it at once. It only sinks. It accepts and
// ignores --size, --work-us and --wait-ms, because the published program had no such options.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

const readMax = 1024 // bytes, as published

func main() {
	listener, err := listen(address(os.Args[1:]))
	if err != nil {
		fmt.Fprintf(os.Stderr, "published-go: cannot listen: %v\n", err)
		os.Exit(1)
	}
	go exitOnSignal()
	for {
		conn, err := listener.Accept()
		if err != nil {
			continue
		}
		go sink(conn)
	}
}

// listen listens with TCP, as Go did then: today's Go would use MPTCP where the kernel supports it.
func listen(address string) (net.Listener, error) {
	var l net.ListenConfig
	l.SetMultipathTCP(false)
	return l.Listen(context.Background(), "tcp", address)
}

// address reads the command line. A wrong one ends the program.
func address(args []string) string {
	flags := flag.NewFlagSet("published-go", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listen := flags.String("listen", "", "")
	workload := flags.String("workload", "sink", "")
	for _, ignored := range []string{"size", "work-us", "wait-ms"} {
		flags.Int(ignored, 0, "")
	}
	err := flags.Parse(args)
	switch {
	case err != nil:
	case *listen == "":
		err = fmt.Errorf("--listen HOST:PORT is missing")
	case *workload != "sink":
		err = fmt.Errorf("the published program has no --workload %s, only sink", *workload)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "published-go: %v\n", err)
		os.Exit(2)
	}
	return *listen
}

// sink prints its input until the connection ends. As published, its goroutine has no owner: it
// ends with its connection or with the process.
func sink(conn net.Conn) {
	defer conn.Close()
	data := make([]byte, readMax)
	for {
		n, err := conn.Read(data)
		if err != nil {
			return
		}
		fmt.Printf("%q", data[:n])
	}
}

// exitOnSignal exits with status 0 on a signal.
func exitOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	os.Exit(0)
}
