package events_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"

	"weir/web"
	"weir/web/components/events"
)

// serve runs a component on a server, asks it by f, and closes both.
func serve(c web.Component, err error, f func(url string)) {
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := web.New(c, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := httptest.NewServer(h)
	f(s.URL)
	http.DefaultClient.CloseIdleConnections()
	_ = c.(io.Closer).Close() // first the conversations,
	s.Close()                 // then the server
	_ = h.Close()
}

func ExampleWebSocket() {
	c, err := events.WebSocket(events.WebSocketConfig{}, func(ctx context.Context, conn *websocket.Conn) error {
		_, name, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		return conn.Write(ctx, websocket.MessageText, append([]byte("hello "), name...))
	})
	serve(c, err, func(url string) {
		ctx := context.Background()
		conn, _, err := websocket.Dial(ctx, url, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = conn.Write(ctx, websocket.MessageText, []byte("you"))
		_, answer, _ := conn.Read(ctx)
		_, _, err = conn.Read(ctx)
		fmt.Printf("%s, then status %d\n", answer, websocket.CloseStatus(err))
	})
	// Output: hello you, then status 1000
}

func ExampleSSE() {
	c, err := events.SSE(events.SSEConfig{}, func(ctx context.Context, to *events.Stream) error {
		for i := range 2 {
			if err := to.Send(events.Event{ID: fmt.Sprint(i), Data: "tick"}); err != nil {
				return err
			}
		}
		return nil
	})
	serve(c, err, func(url string) {
		resp, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s", body)
	})
	// Output:
	// id: 0
	// data: tick
	//
	// id: 1
	// data: tick
}

func ExampleEcho() {
	c, err := events.Echo(events.WebSocketConfig{})
	serve(c, err, func(url string) {
		conn, _, err := websocket.Dial(context.Background(), url, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = conn.Write(context.Background(), websocket.MessageText, []byte("anybody?"))
		_, answer, _ := conn.Read(context.Background())
		fmt.Printf("%s\n", answer)
		_ = conn.Close(websocket.StatusNormalClosure, "")
	})
	// Output: anybody?
}

func ExampleWatch() {
	_, err := events.Watch(events.WatchConfig{Dir: "no/such/folder"})
	fmt.Println(err)
	// Output: events: dir is "no/such/folder", which is not a readable folder
}
