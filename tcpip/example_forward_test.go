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
