package programs

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/tidwall/redcon"

	"weir/tcpip/netsim"
)

// A Redis client goes on after the server has crashed and restarted; its pool has a connection of
// before.
func TestRedis(t *testing.T) {
	netsim.Run(t, netsim.Seeds(10), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(server, client, netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.02})
		server.Start(serveRedis)
		c := redis.NewClient(&redis.Options{Addr: "server:6379", Dialer: client.DialContext})
		defer c.Close()
		if err := c.Set(w.Context(), "key", "value", 0).Err(); err != nil {
			w.Fatal(err)
		}
		if got, err := c.Get(w.Context(), "key").Result(); got != "value" || err != nil {
			w.Errorf("got %q and error %v, want the value", got, err)
		}
		server.Restart()
		if got, err := c.Get(w.Context(), "key").Result(); got != "" || err != redis.Nil {
			w.Errorf("after the restart: got %q and error %v, want no value", got, err)
		}
	})
}

// serveRedis serves GET and SET from memory.
func serveRedis(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":6379")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	values := map[string][]byte{}
	s := redcon.NewServerNetwork("tcp", ":6379", func(c redcon.Conn, command redcon.Command) {
		mu.Lock()
		defer mu.Unlock()
		switch strings.ToLower(string(command.Args[0])) {
		case "set":
			values[string(command.Args[1])] = append([]byte(nil), command.Args[2]...)
			c.WriteString("OK")
		case "get":
			if v, known := values[string(command.Args[1])]; known {
				c.WriteBulk(v)
				return
			}
			c.WriteNull()
		default: // HELLO: the client falls back to the second protocol
			c.WriteError("ERR unknown command")
		}
	}, nil, nil)
	context.AfterFunc(h.Context(), func() { l.Close() })
	return serveUntilClosed(h, func() error { return s.Serve(net.Listener(l)) })
}

// serveUntilClosed returns no error when the host has ended the service.
func serveUntilClosed(h *netsim.Host, serve func() error) error {
	if err := serve(); h.Context().Err() == nil {
		return err
	}
	return nil
}
