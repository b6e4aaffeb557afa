package netsim_test

import (
	"math"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"weir/tcpip/netsim"
)

// Faults of the same time happen in the order of At, behind what the programs do at that time, and
// before a later fault. The end of the world is behind it too.
func TestFaultsOfATimeHaveAnOrder(t *testing.T) {
	for range 10 {
		once(t, func(w *netsim.World) {
			var mu sync.Mutex
			order := ""
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				order += what
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				w.At(time.Second, func() { note(name) })
			}
			w.At(time.Second+time.Microsecond, func() { note("e") })
			w.At(math.MaxInt64, func() { note("never") })
			w.Host("h").Start(func(h *netsim.Host) error {
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				for range 2 {
					<-tick.C
					if h.Context().Err() == nil {
						note("1")
					}
				}
				return nil
			})
			time.Sleep(2 * time.Second)
			w.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				if order != "1abcde1" {
					w.Errorf("got the order %s, want 1abcde1", order)
				}
			})
		})
	}
}

// A host that is restarted while its timers run, and again at the times of its new ones, sends the
// same packets each time.
func TestFaultsAtTheTimesOfTimersAreRepeatable(t *testing.T) {
	for seed := range uint64(worlds(20)) {
		netsim.Repeat(t, seed, func(w *netsim.World) {
			a, b := pair(w, netsim.Path{Delay: 10 * time.Millisecond, Loss: 0.1})
			for _, h := range []*netsim.Host{a, b} {
				h.Start(func(h *netsim.Host) error {
					c, err := h.ListenPacket("udp", ":7")
					if err != nil {
						return err
					}
					tick := time.NewTicker(100 * time.Millisecond)
					defer tick.Stop()
					for h.Context().Err() == nil {
						c.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.Addr(), 7))) //nolint:errcheck // it may have crashed
						<-tick.C
					}
					return nil
				})
			}
			for n := range 4 {
				w.At(time.Duration(n+1)*time.Second, b.Restart)
				w.At(time.Duration(n+1)*time.Second, func() { w.PartitionOneWay(b, a) })
				w.At(time.Duration(n+1)*time.Second+500*time.Millisecond, w.Heal)
			}
			time.Sleep(5 * time.Second)
		})
	}
}
