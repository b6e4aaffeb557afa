package web_test

import (
	"sync"
	"testing"
	"time"

	"weir/internal/testsize"
	"weir/tcpip/netsim"
	"weir/web"
	"weir/web/components/proxy"
	"weir/web/server"
)

// TestProxyAnswersEachRequestOnceAndRight runs a proxy through faults: see the package.
func TestProxyAnswersEachRequestOnceAndRight(t *testing.T) {
	netsim.Run(t, netsim.SeedRange{First: uint64(testsize.Of(t, "WEIR_FIRST_WORLD", 1)), Count: testsize.Of(t, "WEIR_WEB_WORLDS", 3)}, func(w *netsim.World) {
		defer stopIfPlanted(w)
		s := newSite(w)
		var clients []*client
		for _, name := range []string{"ann", "bob", "cat"} {
			h := w.Host(name)
			w.Link(h, s.net, path(w.Rand(), 0.03))
			c := newClient(w, h)
			c.leaves = true
			if name == "cat" {
				c.isCut = true
				s.cut(h)
			}
			clients = append(clients, c)
		}
		s.disturb()
		var running sync.WaitGroup
		for _, c := range clients {
			running.Go(func() { c.run(faultyUntil) })
		}
		running.Wait()
		time.Sleep(time.Minute - w.Elapsed()%time.Minute) // let the upstreams recover
		s.checkHealth()
		s.checkOrders(clients)
	})
}

// TestProxyAnswersAllRequestsWithoutAFault: the upstreams close idle connections, which the proxy
// does not use then.
func TestProxyAnswersAllRequestsWithoutAFault(t *testing.T) {
	netsim.Run(t, netsim.Seeds(1), func(w *netsim.World) {
		s := newSite(w)
		h := w.Host("ann")
		w.Link(h, s.net, netsim.Path{Delay: time.Millisecond})
		c := newClient(w, h)
		c.run(2 * time.Minute)
		if c.bad > 0 {
			w.Errorf("got %d requests that failed and %d that did not, want none to fail", c.bad, c.good)
		}
	})
}

// faultyUntil is when the last fault has ended.
const faultyUntil = 2 * time.Minute

// checkEvery is the interval of health checks. Two in a row change the state of an upstream.
const checkEvery = 2 * time.Second

// noticedAfter is how long the health checks may take to notice a change: two intervals, the limit
// of a check, and what is in between.
const noticedAfter = 4 * checkEvery

// run is the program of the proxy.
func (s *site) run(h *netsim.Host) error {
	c, err := proxy.New(proxy.Config{
		Upstreams: []string{"http://app1", "http://app2", "http://app3"}, Dial: h.DialContext, Policy: s.policy,
		DialTimeout: "2s", HeadTimeout: "5s", IdleTimeout: "5s", Aside: "5s",
		HealthPath: "/healthz", HealthInterval: checkEvery.String(),
	})
	if err != nil {
		return err
	}
	s.proxy = c.(*proxy.Proxy)
	defer s.proxy.Close()
	handler, err := web.New(web.Chain(s.proxy), web.Options{})
	if err != nil {
		return err
	}
	defer handler.Close()
	l, err := h.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	close(s.running)
	return server.Run(h.Context(), l, handler, server.Config{})
}

// checkHealth checks the proxy's state when there is no fault any more.
func (s *site) checkHealth() {
	for _, u := range s.proxy.Upstreams() {
		if u.Down || u.Active != 0 {
			s.w.Errorf("%s: got down %v and %d exchanges in progress without a fault, want up and none: %s", u.Name, u.Down, u.Active, u.LastError)
		}
	}
}

// checkOrders checks how often each order was carried out.
func (s *site) checkOrders(clients []*client) {
	s.shop.mu.Lock()
	defer s.shop.mu.Unlock()
	for _, c := range clients {
		for name, answered := range c.ordered {
			if n := s.shop.carried[name]; n > 1 || answered && n == 0 {
				s.w.Errorf("order %s: got it carried out %d times, want at most once, and once if it was answered: %v", name, n, answered)
			}
		}
		if c.good == 0 {
			s.w.Errorf("%s: got no good response, want some", c.name)
		}
	}
}
