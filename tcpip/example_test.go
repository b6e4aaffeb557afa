package tcpip_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/netip"
	"syscall"

	"weir/tcpip"
	"weir/tcpip/ip"
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

// A stack answers for all addresses: here it echoes what clients send to any of them. A tunnel
// would connect onward first, and give the error of that to Reject.
func ExampleStack_Forward() {
	one, two := link.Pair(link.PairConfig{Medium: link.IP})
	router := newStack(one, "10.0.0.1/24")
	defer router.Close()
	client, err := tcpip.New(tcpip.Config{Link: two, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")},
		Routes: []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.0.1")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	router.Forward(tcpip.Forwarder{TCP: func(r *tcpip.TCPRequest) {
		if r.To().Port() != 7 {
			r.Reject(syscall.ECONNREFUSED)
			return
		}
		go func() { // Accept waits for the client, and a forwarder must not
			conn, err := r.Accept(context.Background())
			if err != nil {
				return
			}
			io.Copy(conn, conn) //nolint:errcheck // the client sees what is missing
			conn.Close()
		}()
	}})

	conn, err := client.Dial("tcp", "192.0.2.1:7")
	if err != nil {
		log.Fatal(err)
	}
	io.WriteString(conn, "to any address") //nolint:errcheck // the answer shows it
	conn.(*tcpip.Conn).CloseWrite()        //nolint:errcheck // as above
	text, err := io.ReadAll(conn)
	conn.Close()
	fmt.Println(string(text), err)
	_, err = client.Dial("tcp", "192.0.2.1:8")
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// to any address <nil>
	// true
}

func newStack(l link.Link, address string) *tcpip.Stack {
	stack, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		log.Fatal(err)
	}
	return stack
}
