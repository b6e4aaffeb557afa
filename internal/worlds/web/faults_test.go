package web_test

import (
	"math/rand/v2"
	"strings"
	"time"

	"weir/tcpip/netsim"
	"weir/web/components/proxy"
)

// site is a proxy and its upstreams.
type site struct {
	w       *netsim.World
	net     *netsim.Router
	apps    []*app
	shop    *shop
	policy  string
	host    *netsim.Host
	proxy   *proxy.Proxy  // set when running is closed
	running chan struct{} // closed when the proxy listens
}

// newSite starts a proxy with three upstreams.
func newSite(w *netsim.World) *site {
	s := &site{w: w, net: w.Router("net"), shop: &shop{carried: map[string]int{}}, host: w.Host("proxy"), running: make(chan struct{})}
	s.policy = []string{"round robin", "least connections", "hash"}[w.Rand().IntN(3)]
	w.Link(s.host, s.net, netsim.Path{Delay: time.Millisecond})
	for _, name := range []string{"app1", "app2", "app3"} {
		a := &app{name: name, host: w.Host(name), shop: s.shop}
		w.Link(a.host, s.net, path(w.Rand(), 0.01))
		a.host.Start(a.serve)
		s.apps = append(s.apps, a)
	}
	s.host.Start(s.run)
	<-s.running
	return s
}

// path draws a path that works.
func path(r *rand.Rand, loss float64) netsim.Path {
	return netsim.Path{
		Delay: time.Duration(1+r.IntN(20)) * time.Millisecond, Jitter: time.Duration(r.IntN(5)) * time.Millisecond,
		Loss: float64(r.IntN(3)) * loss, Reorder: float64(r.IntN(2)) * 0.02,
	}
}

// disturb schedules faults: one after the other for each upstream, so that they do not undo one
// another.
func (s *site) disturb() {
	r := s.w.Rand()
	for _, a := range s.apps {
		for at := time.Duration(5+r.IntN(20)) * time.Second; at < faultyUntil-40*time.Second; at += time.Duration(10+r.IntN(30)) * time.Second {
			end := at + time.Duration(1+r.IntN(25))*time.Second
			s.fault(a, r.IntN(6), at, end)
			at = end
		}
	}
}

// cut schedules partitions between a client and the proxy, in both directions or one.
func (s *site) cut(client *netsim.Host) {
	r := s.w.Rand()
	for at := time.Duration(5+r.IntN(30)) * time.Second; at < faultyUntil-40*time.Second; at += time.Duration(40+r.IntN(30)) * time.Second {
		kind := r.IntN(3)
		s.w.At(at, func() {
			switch kind {
			case 0:
				s.w.Partition(client, s.host)
			case 1:
				s.w.PartitionOneWay(client, s.host)
			default:
				s.w.PartitionOneWay(s.host, client)
			}
		})
		s.w.At(at+time.Duration(1+r.IntN(35))*time.Second, s.w.Heal)
	}
}

// fault schedules a fault of an upstream.
func (s *site) fault(a *app, kind int, begin, end time.Duration) {
	switch kind {
	case 0:
		s.w.At(begin, a.host.Crash)
		s.w.At(end, a.host.Restart)
		s.expectState(a, begin, end)
	case 1:
		s.w.At(begin, func() { s.w.Partition(a.host, s.host) })
		s.w.At(end, s.w.Heal)
	case 2:
		s.w.At(begin, a.host.Restart)
	default:
		s.w.At(begin, func() { a.setHabit(habit(kind - 2)) })
		s.w.At(end, func() { a.setHabit(healthy) })
		if kind-2 == int(sick) {
			s.expectState(a, begin, end)
		}
	}
}

// expectState expects that the proxy finds an upstream down from a while after begin until end, and
// sends it no requests meanwhile; and that it is up again a while after the end.
func (s *site) expectState(a *app, begin, end time.Duration) {
	served := 0
	if begin+noticedAfter < end {
		s.w.At(begin+noticedAfter, func() { s.want(a, true); served = a.served() })
		s.w.At(end-time.Millisecond, func() {
			s.want(a, true)
			if now := a.served(); now != served {
				s.w.Errorf("%s: got %d requests while it was down, want none", a.name, now-served)
			}
		})
	}
	s.w.At(end+noticedAfter, func() { s.want(a, false) })
}

// want checks the state of an upstream.
func (s *site) want(a *app, down bool) {
	for _, u := range s.proxy.Upstreams() {
		if strings.HasSuffix(u.Name, a.name) && u.Down != down {
			s.w.Errorf("%s: got down %v, want %v: %s", a.name, u.Down, down, u.LastError)
		}
	}
}
