package front

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"weir/chat"
	"weir/serve"
)

// A connection through a proxy is handed over like a direct one, and the next service knows its
// client's address.
func TestAProxysClientsAreHandedOver(t *testing.T) {
	for _, way := range []serve.Way{serve.Loop, serve.Goroutine} {
		t.Run(way.String(), func(t *testing.T) { handOver(t, way) })
	}
}

func handOver(t *testing.T, way serve.Way) {
	dir, l := t.TempDir(), listen(t)
	proxies, err := ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var moved []serve.MovedConn
	run := func(c *chat.Service, adopt []serve.MovedConn) (end func(error)) {
		service := c.Sessions()
		service.Open = (&Door{Chat: c, Proxies: proxies}).Open
		ctx, cancel := context.WithCancelCause(context.Background())
		over := make(chan error, 1) // from Run -> end, one value
		o := serve.Options{SendQueue: chat.Outbox, DrainTimeout: waitLimit, Adopt: adopt, OnMove: func(m serve.MovedConn) {
			mu.Lock()
			defer mu.Unlock()
			moved = append(moved, m)
		}}
		go func() { over <- serve.Run(ctx, way, l, service, o) }()
		return func(why error) {
			cancel(why)
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
	}
	old, err := chat.Open(dir, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end := run(old, nil)
	ann := talk(t, dial(t, l.Addr().String()))
	ann.send(header(t, 2, "192.0.2.1:4000", true) + "PING x")
	ann.register("ann")
	if err := old.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	end(serve.ErrHandover)
	state := old.HandoverState()
	lock, err := old.DuplicateLock()
	if err = errors.Join(err, old.Close()); err != nil {
		t.Fatal(err)
	}
	l = listen(t)
	next, err := chat.Resume(dir, chat.Options{}, chat.Handover{Lock: lock, State: state, Connections: len(moved)})
	if err != nil {
		t.Fatal(err)
	}
	end = run(next, moved)
	text := ann.whois("ann")
	for _, want := range []string{":is connecting from 192.0.2.1\r\n", " 671 "} {
		if !strings.Contains(text, want) {
			t.Errorf("after the handover WHOIS returned %q, want %q", text, want)
		}
	}
	end(nil)
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}
