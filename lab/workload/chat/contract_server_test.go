package chat

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"weir/lab/internal/rooms"
)

// serveChat runs a chat server that fulfils the contract, except for one fault.
func serveChat(args []string) int {
	flags := flag.NewFlagSet("faulty", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listen := flags.String("listen", "", "")
	fault := flags.String("fault", "", "")
	if err := flags.Parse(args); err != nil {
		fmt.Fprintln(os.Stderr, "faulty:", err)
		return 2
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faulty:", err)
		return 1
	}
	term := make(chan os.Signal, 1) // from the runtime; one is enough
	signal.Notify(term, syscall.SIGTERM)
	s := &rooms.Server{Fault: *fault, Died: func() { os.Exit(4) }}
	over := make(chan struct{}) // closed when the server has stopped
	go func() {
		defer close(over)
		s.Serve(l)
	}()
	<-term
	switch *fault {
	case "exits with 3":
		return 3
	case "ignores SIGTERM":
		select {}
	}
	l.Close()
	<-over
	return 0
}
