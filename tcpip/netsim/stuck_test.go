package netsim_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/netsim"
	"weir/tcpip/tcp"
)

// A goroutine that holds a lock while it sleeps stops a world in which another one waits for the
// lock: that is a failure which names both.
func holdsALock(w *netsim.World) {
	var mu sync.Mutex
	go func() {
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(time.Second)
	}()
	time.Sleep(time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	w.Log("never reached")
}

// Large requests share a connection of HTTP/2, whose client holds a lock while it writes: with a
// send buffer that never fills, no write waits.
func TestLargeRequestsOverHTTP2(t *testing.T) {
	unused := httptest.NewUnstartedServer(nil)
	unused.StartTLS()
	unused.Close()
	netsim.Run(t, netsim.Seeds(2), func(w *netsim.World) {
		server := w.Host("server")
		client := w.HostWith("client", netsim.HostConfig{Configure: func(c *tcpip.Config) {
			c.TCP.SendBuffer = tcp.BufferRange{Initial: 64 << 20, Max: 64 << 20}
		}})
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Rate: 20 * netsim.Mbit})
		server.Start(func(h *netsim.Host) error {
			l, err := h.Listen("tcp", ":443")
			if err != nil {
				return err
			}
			s := &http.Server{TLSConfig: &tls.Config{Certificates: unused.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}}
			s.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }) //nolint:errcheck // the client notices
			return s.ServeTLS(l, "", "")
		})
		transport := client.Transport()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate is for another name
		c := &http.Client{Transport: transport}
		defer c.CloseIdleConnections()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				res, err := c.Post("https://server/", "text/plain", strings.NewReader(strings.Repeat("x", 200_000)))
				if err != nil {
					w.Error(err)
					return
				}
				if res.Body.Close(); res.ProtoMajor != 2 {
					w.Errorf("got %s, want HTTP/2", res.Proto)
				}
			})
		}
		all.Wait()
	})
}

// Packets that the hosts write at the last instant are compared too.
func TestTheLastPacketsAreCompared(t *testing.T) {
	n := byte(0)
	text := netsim.Difference(t, 1, func(w *netsim.World) {
		a, b := pair(w, netsim.Path{})
		c, err := a.Dial("udp", b.Addr().String()+":7")
		if err != nil {
			w.Fatal(err)
		}
		n++
		c.Write([]byte{n}) //nolint:errcheck // only the packet matters
	})
	if text == "" {
		t.Error("got no difference, want the packet that differs")
	}
}

// A crash during a Sync loses what it was to keep.
func TestACrashFallsIntoASync(t *testing.T) {
	once(t, func(w *netsim.World) {
		h := w.HostWith("h", netsim.HostConfig{SyncDelay: 10 * time.Millisecond})
		w.At(5*time.Millisecond, h.Restart)
		err := h.Disk().WriteFile("f", []byte("x"))
		if err != nil {
			w.Fatal(err)
		}
		if err := h.Disk().Sync("f"); err == nil {
			w.Error("Sync returned no error after a crash, want ErrCrashed")
		}
		if got, err := h.Disk().ReadFile("f"); len(got) > 0 || err != nil {
			w.Errorf("got %q and error %v, want nothing", got, err)
		}
	})
}

func TestOthers(t *testing.T) {
	once(t, func(w *netsim.World) {
		a, _ := pair(w, netsim.Path{})
		w.Host("c")
		got := ""
		for _, h := range w.Others(a) {
			got += h.Name()
		}
		if got != "bc" {
			w.Errorf("got the hosts %q, want b and c", got)
		}
	})
}
