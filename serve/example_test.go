package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"weir/serve"
)

// shouter is the state machine of one connection: it answers each byte in upper case.
type shouter struct{}

func (shouter) Input(in []byte, out *serve.Writer) error {
	for _, b := range in {
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		out.Write([]byte{b})
	}
	return nil
}

func (shouter) Wake(time.Time, *serve.Writer) error { return nil }
func (shouter) Close(error)                         {}

// Example runs a service by a concurrency model that is chosen by name, as a flag would. It sends
// one line to the service and stops it gracefully.
func Example() {
	model, err := serve.ParseWay("goroutine") // or pool, loop, coroutine, prefork, process
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	service := serve.Service{
		Open:  func(serve.Conn) serve.Session { return shouter{} },
		State: serve.PerConnection, // sessions share nothing, so every model may run them
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1) // the result of Run
	meter := new(serve.Meter)
	go func() { stopped <- serve.Run(ctx, model, listener, service, serve.Options{Meter: meter}) }()

	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		log.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(answer)

	stop() // Run sends what is left, closes the connections and returns
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	fmt.Println(meter.Snapshot().Accepted, "connection")
	// Output:
	// HELLO
	// 1 connection
}
