package netsim_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// page serves a page of a size on port 80 of a host.
func page(size int) func(*netsim.Host) error {
	return func(h *netsim.Host) error {
		l, err := h.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("x", size)) //nolint:errcheck // the client notices
		}))
	}
}

// get returns the length of a page.
func get(h *netsim.Host, url string) (int, error) {
	res, err := h.HTTP().Get(url)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	return int(n), err
}

func TestHTTPOverALossyLink(t *testing.T) {
	netsim.Run(t, netsim.Seeds(40), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Rate: 10 * netsim.Mbit, Loss: float64(w.Seed()%20) / 100})
		server.Start(page(100_000))
		for range 3 {
			if n, err := get(client, "http://server/"); n != 100_000 || err != nil {
				w.Errorf("got %d bytes and error %v, want 100,000 and none", n, err)
			}
		}
		w.Log(fmt.Sprint(w.Elapsed()))
	})
}

func TestHTTPIsRepeatable(t *testing.T) {
	for seed := range uint64(20) {
		netsim.Repeat(t, seed, func(w *netsim.World) {
			server, client := w.Host("server"), w.Host("client")
			w.Link(client, server, netsim.Path{Delay: 20 * time.Millisecond, Rate: 10 * netsim.Mbit, Loss: float64(seed) / 100})
			server.Start(page(100_000))
			for range 3 {
				if n, err := get(client, "http://server/"); n != 100_000 || err != nil {
					w.Errorf("got %d bytes and error %v, want 100,000 and none", n, err)
				}
			}
		})
	}
}
