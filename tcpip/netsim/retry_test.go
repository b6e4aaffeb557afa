package netsim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// shop counts the orders that it gets. An order with a key that it knows is not a new one.
type shop struct {
	mu     sync.Mutex
	orders int
	keys   map[string]bool
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if key == "" || !s.keys[key] {
		s.orders++
		s.keys[key] = true
	}
	fmt.Fprintln(w, "thank you")
}

// order sends an order, again after each failure, up to five times.
func order(c *http.Client, url, key string) (err error) {
	for range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("one book"))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		var res *http.Response
		if res, err = c.Do(r); err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if cancel(); err == nil {
			return nil
		}
	}
	return err
}

// ordersOnce is a test of a client that orders one book.
func ordersOnce(key string) func(*netsim.World) {
	return func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Loss: 0.05})
		s := &shop{keys: map[string]bool{}}
		server.Start(func(h *netsim.Host) error {
			l, err := h.Listen("tcp", ":80")
			if err != nil {
				return err
			}
			return http.Serve(l, s)
		})
		for range 3 { // short partitions at random times
			begin := time.Duration(w.Rand().IntN(500)) * time.Millisecond
			w.At(begin, func() { w.Partition(client, server) })
			w.At(begin+3*time.Second, w.Heal)
		}
		time.Sleep(time.Duration(w.Rand().IntN(500)) * time.Millisecond)
		if err := order(client.HTTP(), "http://server/orders", key); err != nil {
			w.Skip("the order failed, which the client knows")
		}
		if s.orders != 1 {
			w.Errorf("the server has %d orders, want 1", s.orders)
		}
	}
}

// shopRecovers is a test of a shop whose server crashes, and whose customers are cut off, at random
// times. When that is over, each of them can order again.
func shopRecovers(w *netsim.World) {
	server, ann, bob := w.Host("server"), w.Host("ann"), w.Host("bob")
	w.Join(netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.01}, server, ann, bob)
	s := &shop{keys: map[string]bool{}}
	server.Start(func(h *netsim.Host) error {
		l, err := h.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		return http.Serve(l, s)
	})
	w.Chaos(netsim.Faults{
		Crash:    netsim.Group{server},
		Isolate:  netsim.Group{ann, bob},
		Until:    time.Minute,
		MaxHosts: 2,
	})
	for _, h := range []*netsim.Host{ann, bob} {
		go func() {
			c := h.HTTP()
			for n := 0; w.Elapsed() < time.Minute; n++ {
				order(c, "http://server/orders", fmt.Sprint(h.Name(), n)) // it may fail
				time.Sleep(time.Second)
			}
			order(c, "http://server/orders", h.Name()) // it may not
		}()
	}
	time.Sleep(75 * time.Second) // the faults, and as long as the last orders may take
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.keys["ann"] || !s.keys["bob"] {
		w.Errorf("15 s after the last fault: got the orders %v, want those of ann and bob", slices.Sorted(maps.Keys(s.keys)))
	}
}

// bugs are tests that must fail, each with the message of its failure.
var bugs = map[string]struct {
	test func(*netsim.World)
	want string
}{
	"retry":    {ordersOnce(""), "the server has 2 orders, want 1"},
	"pool":     {pooled(false), "the second question has no answer"},
	"deadline": {answered(dialOnly), "the world was not over after 10m0s"},
	"lock":     {holdsALock, "a goroutine waits for a lock whose holder waits"},
}

func TestBug(t *testing.T) {
	name := os.Getenv("NETSIM_BUG")
	if name == "" {
		t.Skip("for TestBugsAreFound")
	}
	netsim.Run(t, netsim.Seeds(200), bugs[name].test)
}

// The bugs of three kinds of clients are found.
func TestBugsAreFound(t *testing.T) {
	if runtime.GOOS == "js" {
		t.Skip("it starts processes")
	}
	for name, b := range bugs {
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBug$", "-test.v")
			c.Env = append(os.Environ(), "NETSIM_BUG="+name, "TMPDIR="+t.TempDir())
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), b.want) || !strings.Contains(string(out), "Repeat: WEIR_SEED=") {
				t.Errorf("got error %v and the output\n%s\nwant a failure with %q, and how to repeat it", err, out, b.want)
			}
			t.Logf("%s", out)
		})
	}
}

// The same clients without the bug pass.
func TestMendedClientsPass(t *testing.T) {
	for name, test := range map[string]func(*netsim.World){
		"retry": ordersOnce("8b6f"), "pool": pooled(true), "deadline": answered(everything), "shop": shopRecovers,
	} {
		t.Run(name, func(t *testing.T) { netsim.Run(t, netsim.Seeds(worlds(50)), test) })
	}
}

// pooled is a test of a client that keeps its connection between two questions. Meanwhile the
// server restarts without the client noticing.
func pooled(checks bool) func(*netsim.World) {
	return func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond})
		server.Start(echo)
		c, err := client.Dial("tcp", "server:7")
		if err != nil {
			w.Fatal(err)
		}
		defer func() { c.Close() }()
		if got, err := says(c, "one"); got != "one" || err != nil {
			w.Fatalf("got %q and error %v, want the echo", got, err)
		}
		w.At(5*time.Second, server.Crash)
		w.At(6*time.Second, server.Restart)
		time.Sleep(10 * time.Second)
		c.SetDeadline(time.Now().Add(5 * time.Second))
		got, err := says(c, "two")
		if err != nil && checks { // the connection was too old: once more with a new one
			if c, err = client.Dial("tcp", "server:7"); err != nil {
				w.Fatal(err)
			}
			got, err = says(c, "two")
		}
		if got != "two" || err != nil {
			w.Errorf("the second question has no answer: %v", err)
		}
	}
}

// deadline is what a client limits.
type deadline bool

const (
	dialOnly   deadline = false
	everything deadline = true
)

// answered is a test of a client that must give up after ten seconds, whatever happens.
func answered(limit deadline) func(*netsim.World) {
	return func(w *netsim.World) {
		w.SetLimit(10 * time.Minute)
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond})
		server.Start(echo)
		w.At(50*time.Millisecond, func() { w.Partition(client, server) }) // after the handshake
		ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
		defer cancel()
		c, err := client.DialContext(ctx, "tcp", "server:7")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		if limit == everything {
			c.SetDeadline(time.Now().Add(10 * time.Second))
		}
		if _, err := says(c, "are you there?"); limit == everything && !errors.Is(err, os.ErrDeadlineExceeded) {
			w.Errorf("got error %v, want that the deadline is exceeded", err)
		}
	}
}
