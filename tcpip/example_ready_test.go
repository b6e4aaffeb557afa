package tcpip_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/netip"

	"weir/tcpip"
	"weir/tcpip/link"
)

// ExampleReadyQueue serves connections by an event loop: one goroutine for all of them.
func ExampleReadyQueue() {
	one, two := link.Pair(link.PairConfig{})
	server, err := tcpip.New(tcpip.Config{Link: one, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := tcpip.New(tcpip.Config{Link: two, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	listener, err := server.Listen("tcp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	queue := tcpip.NewReadyQueue()
	defer queue.Close()
	if err := queue.Add(listener.(*tcpip.Listener), nil); err != nil {
		log.Fatal(err)
	}
	go serveReady(queue) // until the queue is closed

	conn, err := client.Dial("tcp", "10.0.0.1:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(conn, "hello")
	text, err := io.ReadAll(conn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", text)
	// Output: hello, from an event loop
}

// serveReady accepts connections and answers what each sends first.
func serveReady(queue *tcpip.ReadyQueue) {
	events := make([]tcpip.ReadyEvent, 64)
	for {
		n, err := queue.Wait(context.Background(), events)
		if err != nil {
			return
		}
		for _, event := range events[:n] {
			switch s := event.Source.(type) {
			case *tcpip.Listener:
				for c, err := s.TryAccept(); err == nil; c, err = s.TryAccept() {
					queue.Add(c, nil)
				}
			case *tcpip.Conn:
				var buffer [512]byte
				if n, err := s.TryRead(buffer[:]); err == nil {
					s.TryWrite(append(buffer[:n], ", from an event loop"...))
					s.Close()
				}
			}
		}
	}
}
