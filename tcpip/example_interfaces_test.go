package tcpip_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// A host with two links, here in memory, as a machine with a cable and a VPN has them. Each link
// has its own addresses, and a default route by its own router: the one with the lower metric is
// used, unless a connection's own address is of the other link.
func ExampleInterface() {
	cable, router := link.Pair(link.PairConfig{})
	vpn, gateway := link.Pair(link.PairConfig{Medium: link.IP})
	host, err := tcpip.New(tcpip.Config{
		Interfaces: []tcpip.Interface{
			{Name: "eth0", Link: cable, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}},
			{Name: "vpn1", Link: vpn, Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.0.2/24")}, MTU: 1400, Metric: 100},
		},
		Routes: []ip.Route{
			{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.0.0.1")},
			{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.1.0.1")},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	// each router answers for a far server too
	defer serveRemoteAddr(router, "10.0.0.1/24", "192.0.2.1/32").Close()
	defer serveRemoteAddr(gateway, "10.1.0.1/24", "192.0.2.1/32").Close()

	show := func(d tcpip.Dialer) {
		d.Stack = host
		conn, err := d.Dial("tcp", "192.0.2.1:7")
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		text, err := io.ReadAll(conn)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
	}
	show(tcpip.Dialer{})
	show(tcpip.Dialer{LocalAddr: netip.MustParseAddrPort("10.1.0.2:0")})
	// Output:
	// you are 10.0.0.2
	// you are 10.1.0.2
}

// serveRemoteAddr starts a stack that tells each client its address.
func serveRemoteAddr(l link.Link, addrs ...string) *tcpip.Stack {
	c := tcpip.Config{Link: l}
	for _, a := range addrs {
		c.Addrs = append(c.Addrs, netip.MustParsePrefix(a))
	}
	s, err := tcpip.New(c)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := s.Listen("tcp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	go func() { // until the stack is closed
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "you are %v", conn.RemoteAddr().(*net.TCPAddr).IP) //nolint:errcheck // the client sees it
			conn.Close()
		}
	}()
	return s
}
