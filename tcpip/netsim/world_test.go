package netsim_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// worlds is how many worlds a test runs: fewer where all is slow.
func worlds(n int) int {
	if netsim.Raced || runtime.GOOS == "js" || testing.Short() {
		return max(1, n/10)
	}
	return n
}

// body is what the servers of these tests answer with.
func body(size int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", size)) //nolint:errcheck // the client notices
	})
}

// page serves a page of a size on port 80 of a host.
func page(size int) func(*netsim.Host) error {
	return func(h *netsim.Host) error {
		l, err := h.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		return http.Serve(l, body(size))
	}
}

// get returns the length of a page.
func get(c *http.Client, url string) (int, error) {
	res, err := c.Get(url)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	return int(n), err
}

// gets gets a page several times, one after the other.
func gets(w *netsim.World, c *http.Client, url string, want, times int) {
	for range times {
		if n, err := get(c, url); n != want || err != nil {
			w.Errorf("got %d bytes and error %v, want %d and none", n, err, want)
		}
	}
}

// A hundred worlds with a loss of 0 to 20 percent, each run twice: the packets are the same to the
// byte and to the nanosecond.
func TestHTTPIsRepeatable(t *testing.T) {
	for seed := range uint64(worlds(100)) {
		netsim.Repeat(t, seed, func(w *netsim.World) {
			server, client := w.Host("server"), w.Host("client")
			w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Rate: 10 * netsim.Mbit, Loss: float64(seed%21) / 100})
			server.Start(page(50_000))
			gets(w, client.HTTP(), "http://server/", 50_000, 2)
		})
	}
}

// TLS takes its random numbers from package crypto.
func TestTLSIsRepeatable(t *testing.T) {
	for seed := range uint64(worlds(20)) {
		netsim.Repeat(t, seed, overTLS(t, "http/1.1", float64(seed)/100))
	}
}

// HTTP/2 has goroutines of its own for each connection, whose order may differ from run to run.
func TestHTTP2(t *testing.T) {
	netsim.Run(t, netsim.Seeds(worlds(20)), overTLS(t, "h2", 0.03))
}

// overTLS is a test that gets two pages over TLS by a version of HTTP.
func overTLS(t *testing.T, protocol string, loss float64) func(*netsim.World) {
	t.Helper()
	unused := httptest.NewUnstartedServer(nil)
	unused.StartTLS()
	defer unused.Close()
	config := &tls.Config{Certificates: unused.TLS.Certificates, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13}
	return func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Rate: 10 * netsim.Mbit, Loss: loss})
		server.Start(func(h *netsim.Host) error {
			l, err := h.Listen("tcp", ":443")
			if err != nil {
				return err
			}
			s := &http.Server{Handler: body(50_000), TLSConfig: config}
			return s.ServeTLS(l, "", "")
		})
		transport := client.Transport()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate is for another name
		gets(w, &http.Client{Transport: transport}, "https://server/", 50_000, 2)
	}
}

// A program whose packets depend on chance is found out.
func TestChanceIsReported(t *testing.T) {
	text := ""
	for range 20 { // the two runs may draw the same number
		text += netsim.Difference(t, 1, func(w *netsim.World) {
			a, b := pair(w, netsim.Path{})
			b.Start(echo)
			c, err := a.Dial("tcp", "b:7")
			if err != nil {
				w.Fatal(err)
			}
			defer c.Close()
			says(c, fmt.Sprint(rand.IntN(1000))) //nolint:errcheck // only the packets matter
		})
	}
	for _, want := range []string{"packet 4 differs from byte", "a: 10.0.0.1:", "netsim_test.says"} {
		if !strings.Contains(text, want) {
			t.Errorf("got the report %q, want it to say %q", text, want)
		}
	}
}

// Each of a thousand hosts gets a page.
func TestAThousandHosts(t *testing.T) {
	once(t, func(w *netsim.World) {
		lan := w.Switch("lan")
		server := w.Host("server")
		w.Link(server, lan, netsim.Path{Delay: time.Millisecond, Rate: netsim.Gbit})
		server.Start(page(1000))
		var all sync.WaitGroup
		for n := range worlds(1000) - 1 {
			h := w.Host(fmt.Sprintf("client%d", n))
			w.Link(h, lan, netsim.Path{Delay: time.Millisecond, Loss: 0.01})
			all.Go(func() { gets(w, h.HTTP(), "http://server/", 1000, 1) })
		}
		all.Wait()
	})
}

// BenchmarkWorld tells how many seconds of virtual time pass in a second.
func BenchmarkWorld(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func(*netsim.World, *netsim.Host, *netsim.Host)
	}{
		{"idle", func(w *netsim.World, a, z *netsim.Host) {
			c, err := a.Dial("tcp", "z:7")
			if err != nil {
				w.Fatal(err)
			}
			time.Sleep(30 * time.Minute) // with its keep-alive probes
			c.Close()
		}},
		{"chatty", func(w *netsim.World, a, z *netsim.Host) {
			c, err := a.Dial("tcp", "z:7")
			if err != nil {
				w.Fatal(err)
			}
			defer c.Close()
			for range 1000 {
				says(c, "x") //nolint:errcheck // a lost link would be seen in the figures
			}
		}},
		{"bulk", func(w *netsim.World, a, z *netsim.Host) {
			c, err := a.Dial("tcp", "z:7")
			if err != nil {
				w.Fatal(err)
			}
			defer c.Close()
			data := make([]byte, 10<<20)
			go c.Write(data)     //nolint:errcheck // the read notices
			io.ReadFull(c, data) //nolint:errcheck // as above
		}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkWorld(b, c.run) })
	}
}

func benchmarkWorld(b *testing.B, run func(*netsim.World, *netsim.Host, *netsim.Host)) {
	var passed time.Duration
	for b.Loop() {
		asTest(b, func(t *testing.T) {
			once(t, func(w *netsim.World) {
				x, z := w.Host("a"), w.Host("z")
				w.Link(x, z, netsim.Path{Delay: 10 * time.Millisecond, Rate: 100 * netsim.Mbit})
				z.Start(echo)
				run(w, x, z)
				passed += w.Elapsed()
			})
		})
	}
	b.ReportMetric(passed.Seconds()/b.Elapsed().Seconds(), "virtual-s/s")
}

// asTest runs a test in a benchmark: virtual time needs a testing.T.
func asTest(b *testing.B, test func(*testing.T)) {
	b.Helper()
	if !testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: b.Name(), F: test}}) {
		b.FailNow()
	}
}
