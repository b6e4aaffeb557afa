package stack

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/lab/contract"
	"weir/lab/internal/contracttest"
	"weir/lab/subject"
)

// serveStack stands for a TCP/IP stack by using the kernel's, optionally with a fault. The test
// binary runs it with the arguments "stack FAULT HOST".
func serveStack(fault, host string) {
	orders := make(chan os.Signal, 4) // from the runtime
	signal.Notify(orders, syscall.SIGTERM, syscall.SIGUSR1)
	for port, answer := range map[string]func(net.Conn){
		"7": func(c net.Conn) {
			if fault == "swallows" {
				_, _ = io.CopyN(c, c, 1000)
				_, _ = io.CopyN(io.Discard, c, 1)
			}
			_, _ = io.Copy(c, c)
		},
		"9": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"19": func(c net.Conn) {
			for block := make([]byte, 1<<16); ; {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		},
	} {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, port))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				go func() {
					answer(c)
					c.Close()
				}()
			}
		}()
	}
	fmt.Println("ready")
	for order := range orders {
		switch {
		case order == syscall.SIGTERM && fault == "ends badly":
			os.Exit(3)
		case order == syscall.SIGTERM:
			os.Exit(0)
		case fault != "is mute":
			fmt.Println(`{"heap_bytes":1,"pauses_ns":{"max":1}}`)
		}
	}
}

// faultyStack returns the tests' stack with a fault (empty: none).
func faultyStack(t *testing.T, fault string) *subject.Subject {
	t.Helper()
	return contracttest.Subject(t, `paradigm="the kernel's"
workloads=["stack"]
network="veth"
ready="line: ready"`, "stack", fault, "{host}")
}

func TestFaultsOfStacksAreCaught(t *testing.T) {
	for fault, want := range map[string]string{"": "", "swallows": "echo: expected 1048576 bytes back", "ends badly": "SIGTERM", "is mute": "SIGUSR1: expected a line of JSON"} {
		t.Run("it "+fault, func(t *testing.T) {
			t.Parallel()
			said, o := "", contract.Options{}
			if fault == "is mute" {
				// the timeout of this wait is reached
				o = contract.Options{Only: []string{"SIGUSR1"}, Timeout: time.Second}
			}
			for _, o := range contract.Run(t.Context(), faultyStack(t, fault), []contract.Kind{Contract}, o) {
				if o.Skipped != "" && o.Name == "start" {
					t.Skip(o.Skipped)
				}
				if o.Err != nil {
					said += o.Name + ": " + o.Err.Error() + "\n"
				}
			}
			if (want == "") != (said == "") || !strings.Contains(said, want) {
				t.Errorf("got failures %q, want %q", said, want)
			}
		})
	}
}
