package nat_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/nat"
)

// A host that has no network but this link reaches a server of this machine. In place of the host
// there may be a virtual machine or a namespace: its link is then that of link.Over, link.Adopt or
// link.OpenTap.
func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	go func() { // until the server is closed
		for c, err := server.Accept(); err == nil; c, err = server.Accept() {
			io.WriteString(c, "hello from "+c.LocalAddr().(*net.TCPAddr).IP.String()) //nolint:errcheck // the host shows it
			c.Close()
		}
	}()

	near, far := link.Pair(link.PairConfig{})
	gateway, err := nat.New(nat.Config{Link: far, Loopback: []netip.Addr{netip.MustParseAddr("192.0.2.1")}})
	if err != nil {
		log.Fatal(err)
	}
	defer gateway.Close()
	host, err := tcpip.New(tcpip.Config{Link: near, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.2.100/24")},
		Routes: []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.2.2")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	port := server.Addr().(*net.TCPAddr).Port
	c, err := host.Dial("tcp", fmt.Sprintf("192.0.2.1:%d", port))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	fmt.Println(string(text), err)
	// Output: hello from 127.0.0.1 <nil>
}
