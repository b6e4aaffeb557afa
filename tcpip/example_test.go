package tcpip_test

import (
	"fmt"
	"io"
	"log"
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/link"
)

// Example joins two stacks by a link in memory. One listens and answers, the other dials. With
// link.OpenTap in place of link.Pair the neighbour is the kernel.
func Example() {
	one, two := link.Pair(link.PairConfig{})
	server := newStack(one, "10.0.0.1/24")
	defer server.Close()
	client := newStack(two, "10.0.0.2/24")
	defer client.Close()

	listener, err := server.Listen("tcp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1) // from the server's goroutine, one
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.WriteString(conn, "hello from user space\n")
			conn.Close()
		}
		served <- err
	}()

	conn, err := client.Dial("tcp", "10.0.0.1:7")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		log.Fatal(err)
	}
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output: hello from user space
}

func newStack(l link.Link, address string) *tcpip.Stack {
	stack, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		log.Fatal(err)
	}
	return stack
}
