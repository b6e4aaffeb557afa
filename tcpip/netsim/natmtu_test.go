package netsim_test

import (
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// A small MTU behind, at or in front of a NAT is found by ICMP errors that the NAT translates, in
// both directions: without them, the transfer would wait for black hole detection.
func TestPathMTUDiscoveryWorksThroughANAT(t *testing.T) {
	for small := range 4 {
		netsim.Run(t, netsim.Seed(1), func(w *netsim.World) {
			server, r, nat := w.Host("server"), w.Router("r"), w.NAT("nat", netsim.NATConfig{})
			inner := nat.Router("inner")
			client := nat.Host("client")
			for n, l := range []*netsim.Link{w.Link(server, r, netsim.Path{}), w.Link(r, nat, netsim.Path{}), w.Link(nat, inner, netsim.Path{}), w.Link(inner, client, netsim.Path{})} {
				p := netsim.Path{Delay: time.Millisecond}
				if n == small {
					p.MTU = 1000
				}
				l.Set(p)
			}
			nat.Publish(80, client, 80)
			server.Start(page(100_000))
			client.Start(page(100_000))
			for from, to := range map[*netsim.Host]string{client: "http://server/", server: "http://10.0.0.3/"} {
				start := w.Elapsed()
				if n, err := get(from.HTTP(), to); n != 100_000 || err != nil {
					w.Errorf("the small MTU at link %d, %s: got %d bytes and error %v, want 100,000 and none", small, to, n, err)
				}
				if took := w.Elapsed() - start; took > 500*time.Millisecond {
					w.Errorf("the small MTU at link %d, %s: took %v, want no timeout", small, to, took)
				}
			}
		})
	}
}
