package tcpip_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"

	"weir/tcpip/link"
)

// lane is a link of one's own, here over channels: Read and Write carry a packet each.
type lane struct {
	in, out chan []byte
	closed  chan struct{}
}

func (l *lane) Read(p []byte) (int, error) {
	select {
	case packet := <-l.in:
		return copy(p, packet), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *lane) Write(p []byte) (int, error) {
	select {
	case l.out <- bytes.Clone(p):
		return len(p), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *lane) Close() error {
	close(l.closed)
	return nil
}

// A program's own link needs Read, Write and Close. link.Over cuts superframes into segments,
// completes checksums, counts, and has connections wait instead of losing packets.
func Example_ownLink() {
	there, back := make(chan []byte), make(chan []byte)
	one, err := link.Over(&lane{there, back, make(chan struct{})}, link.OverConfig{Medium: link.IP})
	if err != nil {
		log.Fatal(err)
	}
	two, err := link.Over(&lane{back, there, make(chan struct{})}, link.OverConfig{Medium: link.IP})
	if err != nil {
		log.Fatal(err)
	}
	server, client := newStack(one, "10.0.0.1/24"), newStack(two, "10.0.0.2/24")
	defer server.Close()
	defer client.Close()

	listener, err := server.Listen("tcp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if conn, err := listener.Accept(); err == nil {
			io.WriteString(conn, "hello over channels\n") //nolint:errcheck // the client sees it
			conn.Close()
		}
	}()
	conn, err := client.Dial("tcp", "10.0.0.1:7")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	conn.Close()
	fmt.Print(string(text), err)
	// Output:
	// hello over channels
	// <nil>
}
