// Command listener is a program with a TAP device, a stack of both families and one listener. A
// test builds it to know the size of such a program.
package main

import (
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/link"
)

func main() {
	l, err := link.OpenTap(link.TapConfig{Name: "weir0"})
	if err != nil {
		panic(err)
	}
	s, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("fd00::2/64")}})
	if err != nil {
		panic(err)
	}
	listener, err := s.Listen("tcp", ":80")
	if err != nil {
		panic(err)
	}
	c, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	c.Close()
}
