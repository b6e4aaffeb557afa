package netsim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// failing are worlds that fail. Tests run them in a child process: see runChild.
var failing = map[string]func(*World){
	"retried POST": retriedPost,
	"crash":        crashedQueue,
	"needs two of eight faults": func(w *World) {
		a, b := w.Host("a"), w.Host("b")
		w.Link(a, b, Path{Delay: time.Millisecond})
		var failed atomic.Int32
		for n := range 8 {
			w.At(time.Duration(n+1)*time.Second, func() {
				w.Partition(a, b)
				if n == 2 || n == 5 {
					failed.Add(1)
				}
			})
		}
		time.Sleep(10 * time.Second)
		if failed.Load() == 2 {
			w.Error("both of the planted faults have struck")
		}
	},
	"fails without faults": func(w *World) {
		w.At(time.Second, w.Heal)
		time.Sleep(2 * time.Second)
		w.Error("it fails always")
	},
	"not repeatable": func(w *World) {
		if notRepeatable++; notRepeatable == 1 {
			w.Error("only the first run fails")
		}
	},
	"leaked goroutine": func(w *World) {
		leaked := make(chan struct{})
		go func() { <-leaked }()
	},
	"goroutine that sleeps on": func(*World) {
		go func() {
			for {
				time.Sleep(time.Second)
			}
		}()
	},
	"hangs": func(w *World) { <-make(chan struct{}) },
	"spins": func(w *World) {
		w.SetLimit(time.Minute)
		for {
			time.Sleep(time.Millisecond)
		}
	},
	"panic in the test": func(w *World) {
		m := map[string]map[string]int{}
		m["none"]["x"] = 1
	},
	"panic in a program": func(w *World) {
		w.Host("server").Start(func(*Host) error { panic("planted") })
		time.Sleep(time.Second)
	},
	"panic in a fault": func(w *World) {
		w.At(time.Second, func() { panic("planted") })
		time.Sleep(2 * time.Second)
	},
	"panic in a clean-up": func(w *World) { w.Cleanup(func() { panic("planted") }) },
	"Fatal in a clean-up": func(w *World) { w.Cleanup(func() { w.Fatal("planted") }) },
	"Fatal in another goroutine": func(w *World) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Fatal("of another goroutine")
		}()
		<-done
	},
	"program that returns an error": func(w *World) {
		w.Host("server").Start(func(*Host) error { return errors.New("no disk") })
		time.Sleep(time.Second)
	},
	"hostile names": func(w *World) {
		a := w.Host("../../<script>alert(1)</script>")
		b := w.Host("..")
		w.Link(a, b, Path{})
		w.Log("</script><img src=http://x onerror=alert(1)>")
		w.Error(`"'><b>` + "\x00\u2028")
	},
	"passes":         func(w *World) {},
	"fails by the T": func(w *World) { w.TB.Error("of the T") },
	"not over before the -timeout": func(w *World) {
		a := w.Host("a")
		time.Sleep(time.Second)
		<-a.m.w.never
	},
	"holds a lock while it writes": func(w *World) {
		a, b := w.Host("a"), w.Host("b")
		w.Link(a, b, Path{Delay: time.Millisecond})
		l, err := b.Listen("tcp", ":80") // it does not read
		if err != nil {
			w.Fatal(err)
		}
		defer l.Close()
		c, err := a.Dial("tcp", "b:80")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		var mu sync.Mutex
		for range 2 {
			go func() {
				mu.Lock()
				defer mu.Unlock()
				c.Write(make([]byte, 100<<20)) //nolint:errcheck // it never ends
			}()
		}
		time.Sleep(time.Second)
	},
	"fails with seed 3": func(w *World) {
		if w.Seed() == 3 {
			w.Error("planted")
		}
	},
	"bulk": func(w *World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, Path{Delay: 10 * time.Millisecond, Rate: 100 * Mbit, Loss: 0.001})
		server.Start(serveHTTP(func(r http.ResponseWriter, _ *http.Request) { r.Write(make([]byte, 20<<20)) })) //nolint:errcheck // the client notices
		c := client.HTTP()
		defer c.CloseIdleConnections()
		res, err := c.Get("http://server/")
		if err != nil {
			w.Fatal(err)
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); n != 1 {
			w.Errorf("got %d bytes and error %v, want 1", n, err)
		}
	},
	"names that differ by case": func(w *World) {
		w.Host("server")
		w.Host("Server")
	},
	"an address as a name": func(w *World) { w.Host("192.0.2.1") },
	"duplicate host": func(w *World) {
		w.Host("server")
		w.Host("server")
	},
}

var notRepeatable int // runs of the world of that name

// retriedPost is a client that repeats a POST after a timeout: if the response was lost, the order
// counts twice.
func retriedPost(w *World) {
	shop, client := w.Host("shop"), w.Host("client")
	w.Link(client, shop, Path{Delay: 20 * time.Millisecond, Rate: 10 * Mbit})
	var orders atomic.Int32
	shop.Start(serveHTTP(func(http.ResponseWriter, *http.Request) {
		w.Logf("order %d is booked", orders.Add(1))
		time.Sleep(50 * time.Millisecond)
	}))
	w.At(500*time.Millisecond, func() { w.Partition(client, shop) })
	w.At(700*time.Millisecond, w.Heal)
	w.At(1050*time.Millisecond, func() { w.PartitionOneWay(shop, client) })
	w.At(3500*time.Millisecond, w.Heal)
	w.At(4*time.Second, func() { shop.Pause() })
	w.At(4100*time.Millisecond, func() { shop.Resume() })
	time.Sleep(time.Second)
	c := client.HTTP()
	c.Timeout = time.Second
	for range 5 {
		w.Log("order a teapot")
		res, err := c.Post("http://shop/orders", "text/plain", strings.NewReader("one teapot"))
		if err == nil {
			res.Body.Close()
			break
		}
		w.Logf("no answer, again: %v", err)
	}
	c.CloseIdleConnections()
	if n := orders.Load(); n != 1 {
		w.Errorf("got %d orders of one teapot, want 1", n)
	}
}

func serveHTTP(handle http.HandlerFunc) func(*Host) error {
	return func(h *Host) error {
		l, err := h.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		return http.Serve(l, handle)
	}
}

// crashedQueue is a queue that acknowledges an entry before it is on disk.
func crashedQueue(w *World) {
	queue, writer, reader := w.Host("queue"), w.Host("writer"), w.Host("reader")
	w.Join(Path{Delay: 5 * time.Millisecond, Loss: 0.05}, queue, writer, reader)
	queue.Start(func(h *Host) error {
		l, err := h.Listen("tcp", ":7000")
		if err != nil {
			return err
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go serveQueue(h, c)
		}
	})
	for n := range 4 {
		w.At(time.Duration(n+1)*1500*time.Millisecond, func() { queue.Crash() })
		w.At(time.Duration(n+1)*1500*time.Millisecond+400*time.Millisecond, func() { queue.Restart() })
	}
	added := 0
	for n := range 12 {
		if reply, err := ask(writer, fmt.Sprintf("add %d\n", n)); err == nil && reply == "ok\n" {
			added++
		}
		time.Sleep(300 * time.Millisecond)
	}
	time.Sleep(5 * time.Second)
	all, err := ask(reader, "list\n")
	if got := strings.Count(all, "add"); got < added || err != nil {
		w.Errorf("got %d entries and error %v, want at least the %d that were acknowledged", got, err, added)
	}
}

func serveQueue(h *Host, c net.Conn) {
	defer c.Close()
	b := make([]byte, 100)
	n, err := c.Read(b)
	if err != nil {
		return
	}
	if strings.HasPrefix(string(b[:n]), "list") {
		all, _ := h.Disk().ReadFile("queue") //nolint:errcheck // there may be none yet
		c.Write(all)                         //nolint:errcheck // the client notices
		return
	}
	if h.Disk().Append("queue", b[:n]) == nil {
		io.WriteString(c, "ok\n") //nolint:errcheck // the client notices
	}
	time.AfterFunc(time.Second, func() { h.Disk().Sync("queue") }) //nolint:errcheck // it may have crashed
}

// ask sends a request to the queue, and returns the reply.
func ask(h *Host, request string) (string, error) {
	c, err := h.Dial("tcp", "queue:7000")
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second)) //nolint:errcheck // it is open
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	return string(b), err
}

// childVariable names the world that a child process runs.
const childVariable = "WEIR_NETSIM_CHILD"

// TestChild is a child process of other tests: it runs a world of the table failing.
func TestChild(t *testing.T) {
	name := os.Getenv(childVariable)
	if name == "" {
		t.Skip("for child processes")
	}
	Run(t, Seeds(5), failing[name])
}

// TestChildGoesOn is the test behind it in the child process.
func TestChildGoesOn(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("for child processes")
	}
	t.Setenv(seedVariable, "")
	Run(t, Seeds(2), func(w *World) {
		a, b := w.Host("a"), w.Host("b")
		w.Link(a, b, Path{Delay: time.Millisecond})
		b.Start(serveHTTP(func(http.ResponseWriter, *http.Request) {}))
		c := a.HTTP()
		defer c.CloseIdleConnections()
		if _, err := c.Get("http://b/"); err != nil {
			w.Error(err)
		}
	})
}
