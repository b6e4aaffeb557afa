// The published-go program is the Go program of the published comparison, rebuilt from its
// description: a goroutine per connection on a plain net.Listener, reads of up to 1,024 bytes,
// every byte of them escaped by %q, and one unbuffered write to standard output for each read.
//
// Limitations: as published it has no drain; SIGTERM ends it at once. It only sinks. --size, --work-us
// and --wait-ms are accepted and ignored, because the published program had nothing like them.
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

// listen listens with TCP, as Go did then: today's would listen with MPTCP where the kernel has it.
func listen(address string) (net.Listener, error) {
	var l net.ListenConfig
	l.SetMultipathTCP(false)
	return l.Listen(context.Background(), "tcp", address)
}

// address reads the command line. Anything wrong with it ends the program.
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

// sink prints what arrives until the connection ends. The goroutine is nobody's, as published: it
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

// exitOnSignal makes being stopped no failure.
func exitOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	os.Exit(0)
}
