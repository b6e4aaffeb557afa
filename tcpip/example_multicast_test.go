package tcpip_test

import (
	"fmt"
	"log"
	"net"

	"weir/tcpip/link"
)

// A member of a multicast group receives what another host sends to it. "link" is the name of
// Config.Link.
func ExampleStack_ListenMulticastUDP() {
	one, two := link.Pair(link.PairConfig{})
	a := newStack(one, "10.0.0.1/24")
	defer a.Close()
	b := newStack(two, "10.0.0.2/24")
	defer b.Close()

	group := net.UDPAddr{IP: net.IPv4(239, 1, 2, 3), Port: 5000}
	member, err := b.ListenMulticastUDP("udp", "link", &group)
	if err != nil {
		log.Fatal(err)
	}
	sender, err := a.ListenPacket("udp", ":0")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := sender.WriteTo([]byte("hello, group"), &group); err != nil {
		log.Fatal(err)
	}
	p := make([]byte, 1500)
	n, _, err := member.ReadFrom(p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(p[:n]))
	// Output: hello, group
}
