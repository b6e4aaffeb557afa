package dhcp_test

import (
	"context"
	"fmt"
	"log"

	"weir/tcpip"
	"weir/tcpip/dhcp"
	"weir/tcpip/link"
	"weir/tcpip/nat"
)

// Example leases an address from the DHCP server of a user-mode network, on a link in memory. With
// link.OpenTap in place of link.Pair, the server is one of a real network.
func Example() {
	near, far := link.Pair(link.PairConfig{})
	network, err := nat.New(nat.Config{Link: far})
	if err != nil {
		log.Fatal(err)
	}
	defer network.Close()
	stack, err := tcpip.New(tcpip.Config{Link: near}) // it has no address yet
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close()

	leased := make(chan dhcp.Lease, 1) // OnEvent -> here: the first lease
	client, err := dhcp.New(dhcp.Config{Stack: stack, NoProbe: true, Release: true, OnEvent: func(e dhcp.Event) {
		if e.Kind == dhcp.Obtained {
			leased <- e.Lease
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1) // Run's result, one
	go func() { done <- client.Run(ctx) }()

	lease := <-leased
	fmt.Println(&lease)
	fmt.Println("default route by", lease.Routes[0].Via)
	stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	// Output:
	// 10.0.2.100/24 from 10.0.2.2 for 24h0m0s
	// default route by 10.0.2.2
}
