package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"weir/web/server"
)

func Example() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	s, err := server.New(hello, server.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(ctx) }()

	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Get("http://" + s.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(resp.Status, string(body))

	stop()
	fmt.Println(<-stopped)
	client.CloseIdleConnections()
	// Output:
	// 200 OK hello
	// <nil>
}
