package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"weir/serve"
	"weir/web"
	"weir/web/server"
)

// Any http.Handler runs by each concurrency model. On event loops it has a goroutine of its own
// while it works, so it may block.
func ExampleRun() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	go fetch(l.Addr(), stop)
	err = server.Run(ctx, l, hello, server.Config{Model: serve.Coroutine})
	fmt.Println(err)
	// Output:
	// 200 OK hello
	// <nil>
}

// The components of a composition are called on the event loop, unless they block.
func ExampleRun_composition() {
	source := web.Source(func(c *web.Conn) web.Body { return web.String("hello, " + c.Path()[1:]) })
	site, err := web.New(source, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	go fetch(l.Addr(), stop)
	err = server.Run(ctx, l, site, server.Config{Model: serve.Loop})
	fmt.Println(err)
	// Output:
	// 200 OK hello, ann
	// <nil>
}

// fetch prints the response to a request, and stops the server.
func fetch(from net.Addr, stop func()) {
	defer stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + from.String() + "/ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body))
}
