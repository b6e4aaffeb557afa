package streamload

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/testsize"
	"weir/lab/internal/raw"
	"weir/lab/internal/tally"
	"weir/tcpip/netsim"
)

// echoServer echoes each connection until the end of its input.
func echoServer(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { // until the client closes, or the world ends
			defer c.Close()
			io.Copy(c, c) //nolint:errcheck // the client notices
		}()
	}
}

// dialFrom dials as net.Dialer does with the timeout of a short connection.
func dialFrom(h *netsim.Host) func(network, address string) (net.Conn, error) {
	return func(network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), churnTimeout)
		defer cancel()
		return h.DialContext(ctx, network, address)
	}
}

// TestChurnCountsEachConnectionOnBadNetworks: a connection that was due is counted once, however
// long the network takes for it; and its time counts from when it was due. WEIR_CHURN_WORLDS is the
// number of seeds.
func TestChurnCountsEachConnectionOnBadNetworks(t *testing.T) {
	const rate, size, begin, end, outage = 20, 3000, 5 * time.Second, 25 * time.Second, 4 * time.Second
	netsim.Run(t, netsim.Seeds(testsize.Of(t, "WEIR_CHURN_WORLDS", 3)), func(w *netsim.World) {
		server, client := w.Host("server"), w.Host("client")
		w.Link(client, server, netsim.Path{Delay: 10 * time.Millisecond, Loss: float64(w.Rand().IntN(3)) * 0.02})
		server.Start(echoServer)
		cut := begin + time.Duration(w.Rand().Int64N(int64(end-begin-2*outage)))
		w.At(cut, func() { w.Partition(client, server) })
		w.At(cut+outage, w.Heal)
		clock := raw.NewClock(func() int64 { return 0 })
		c := &churn{churnPlan: churnPlan{clock.Now(), 1e9 / rate}, addr: "server:80", payload: newPayload(size), size: size, echo: true,
			clock: clock, window: tally.NewWindow(), sent: new(atomic.Int64), dial: dialFrom(client)}
		from, to := c.start+int64(begin), c.start+int64(end)
		c.window.To.Store(to)
		c.window.From.Store(from)
		c.run(w.Context())
		time.Sleep(end + 2*churnTimeout)
		r, failures := c.stop(from, to)
		checkChurn(w, r, failures, int64(end-begin)*rate/int64(time.Second))
	})
}

// checkChurn checks the report of a run with an outage.
func checkChurn(w *netsim.World, r ChurnReport, failures tally.Failures, offered int64) {
	failed := int64(0)
	for kind, n := range failures.Kinds {
		if failed += n; kind != "churn timeout" && kind != "churn failed" {
			w.Errorf("got %d failures %q, want only timeouts: %q", n, kind, failures.Details)
		}
	}
	if r.Offered != offered || r.Done > r.Offered || r.Done+failed < r.Offered {
		w.Errorf("got %d offered, %d done and %d failed, want %d offered, each of them done or failed", r.Offered, r.Done, failed, offered)
	}
	if r.DurationUS.Max < 2e6 {
		w.Errorf("got a maximum of %v us, want the outage in it: more than 2 s", r.DurationUS.Max)
	}
}
