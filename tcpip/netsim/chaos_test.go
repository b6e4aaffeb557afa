package netsim

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// five returns a network of five hosts at a switch, and their links.
func five(w *World) (hosts Group, links []*Link) {
	var nodes []Node
	for n := range 5 {
		h := w.Host(fmt.Sprintf("h%d", n+1))
		hosts, nodes = append(hosts, h), append(nodes, h)
	}
	return hosts, w.Join(Path{Delay: 5 * time.Millisecond}, nodes...)
}

// planOf returns the plan for faults.
func planOf(w *World, f Faults, seed uint64) []plannedFault {
	p := &planner{Faults: f.withDefaults(w.Elapsed()), w: w, all: w.Others(), random: rand.New(rand.NewPCG(seed, 2))}
	if err := p.check(); err != nil {
		w.Fatal(err)
	}
	p.draw()
	return p.plan
}

// A thousand plans: every fault is within the period and not longer than Longest, a host and a link
// have one at a time, at most MaxHosts hosts do, and there is one partition at a time. All kinds
// occur.
func TestAPlanOfFaultsKeepsItsLimits(t *testing.T) {
	Run(t, Seed(1), func(w *World) {
		hosts, links := five(w)
		f := Faults{Crash: hosts[:3], Pause: hosts[1:], Isolate: hosts, Links: links[:2], Other: []func(){func() {}},
			Start: time.Minute, Until: 3 * time.Minute, Every: 3 * time.Second, Longest: 20 * time.Second}
		kinds := map[string]int{}
		for seed := range uint64(1000) {
			f.MaxHosts = 1 + int(seed%4)
			plan := planOf(w, f, seed)
			for n, c := range plan {
				if c.from < f.Start || c.until > f.Until || c.until-c.from > f.Longest {
					w.Fatalf("seed %d: got a fault from %v to %v, want it from %v to %v and at most %v long", seed, c.from, c.until, f.Start, f.Until, f.Longest)
				}
				kind, _, _ := strings.Cut(c.text, " ")
				kinds[kind]++
				checkOverlap(w, plan[:n], c, f.MaxHosts)
			}
		}
		for _, kind := range []string{"crash", "pause", "partition", "link", ""} {
			if kinds[kind] < 1000 {
				w.Errorf("got %d faults of the kind %q in 1,000 plans, want at least 1,000 (%v)", kinds[kind], kind, kinds)
			}
		}
	})
}

// checkOverlap checks a fault against those that have begun before it.
func checkOverlap(w *World, before []plannedFault, c plannedFault, maxHosts int) {
	busy := slices.Clone(c.hosts)
	for _, x := range before {
		if x.until <= c.from {
			continue
		}
		if slices.ContainsFunc(x.hosts, c.hosts.has) || x.link != nil && x.link == c.link || x.partition && c.partition {
			w.Errorf("got %q at %v during %q until %v, want one of them at a time", c.text, c.from, x.text, x.until)
		}
		busy = append(busy, x.hosts...)
	}
	if len(c.hosts) > 0 && len(busy) > maxHosts {
		w.Errorf("got %d hosts with a fault at %v, want at most %d", len(busy), c.from, maxHosts)
	}
}

// At Until, every host runs and reaches every other, and all links are as before.
func TestAllFaultsOfChaosHaveEnded(t *testing.T) {
	Run(t, Seeds(10), func(w *World) {
		hosts, links := five(w)
		for _, h := range hosts {
			h.Start(acceptAll)
		}
		w.Chaos(Faults{Crash: hosts, Pause: hosts, Isolate: hosts, Links: links, Until: time.Minute, Every: time.Second, MaxHosts: 3})
		time.Sleep(time.Minute)
		for _, l := range links {
			if there, back := l.link.Paths(); there != (Path{Delay: 5 * time.Millisecond}) || back != there {
				w.Errorf("got the paths %+v and %+v, want those of before", there, back)
			}
		}
		time.Sleep(time.Second)
		for _, a := range hosts {
			for _, b := range hosts {
				began := time.Now()
				c, err := a.Dial("tcp", b.Name()+":7")
				if took := time.Since(began); err != nil || took > 21*time.Millisecond {
					w.Errorf("%s connects to %s: got error %v after %v, want none after one round trip", a.Name(), b.Name(), err, took)
					continue
				}
				c.Close()
			}
		}
		if len(w.recorded().faults) < 20 {
			w.Errorf("got %d faults, want at least 20", len(w.recorded().faults))
		}
	})
}

// acceptAll accepts connections at port 7, and closes them.
func acceptAll(h *Host) error {
	l, err := h.Listen("tcp", ":7")
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			c.Close()
		}
	}
	return err
}

// The faults are those of the seed: the packets are the same in a second run.
func TestChaosIsRepeatable(t *testing.T) {
	for seed := range uint64(3) {
		Repeat(t, seed, func(w *World) {
			hosts, links := five(w)
			for _, h := range hosts {
				h.Start(acceptAll)
			}
			w.Chaos(Faults{Crash: hosts[:2], Pause: hosts, Isolate: hosts, Links: links, Until: time.Minute, Every: 2 * time.Second, MaxHosts: 2})
			for w.Elapsed() < time.Minute {
				from, to := hosts[w.Rand().IntN(5)], hosts[w.Rand().IntN(5)]
				if c, err := from.Dial("tcp", to.Name()+":7"); err == nil {
					c.Close()
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// A test that returns in the middle of the faults has not failed: nothing of them is left.
func TestATestMayEndBeforeItsFaults(t *testing.T) {
	Run(t, Seeds(5), func(w *World) {
		hosts, links := five(w)
		w.Chaos(Faults{Crash: hosts, Pause: hosts, Isolate: hosts, Links: links, Until: 10 * time.Minute, Every: time.Second, Longest: 5 * time.Minute, MaxHosts: 4})
		time.Sleep(20 * time.Second)
	})
}

// Of the faults of Chaos, the search for those that are needed finds the one that makes the test
// fail, with its end; the message and the report describe it.
func TestShrinkFindsTheFaultOfChaos(t *testing.T) {
	test := func(w *World) {
		hosts, links := five(w)
		var downs atomic.Int32
		hosts[2].Start(func(h *Host) error {
			<-h.Context().Done()
			downs.Add(1)
			return nil
		})
		w.Chaos(Faults{Crash: hosts[2:3], Pause: hosts, Isolate: hosts, Links: links, Until: 2 * time.Minute, Every: 4 * time.Second, MaxHosts: 2})
		time.Sleep(2 * time.Minute)
		if downs.Load() > 0 {
			w.Error("h3 was down")
		}
	}
	w := newWorld(2, nil)
	w.runIn(t, test)
	o := shrink(t, w, test)
	if all := len(w.recorded().faults); !o.repeatable || len(o.needed) != 1 || all < 10 {
		t.Fatalf("got the needed faults %v of %d, repeatable %v; want one of at least ten", o.needed, all, o.repeatable)
	}
	f := o.smallest.faults[o.needed[0]]
	if !strings.HasPrefix(o.smallest.effectOf(o.needed[0]), "crash h3, restart after ") || !strings.HasPrefix(f.Where, "chaos_test.go:") {
		t.Errorf("got the needed fault %q at %q, want a crash of h3 by the call of Chaos", o.smallest.effectOf(o.needed[0]), f.Where)
	}
	dir, err := writeReport(t.TempDir(), t.Name(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(page), "crash h3, restart after") {
		t.Errorf("got a report without the crash (error %v), want it there", err)
	}
	for _, n := range w.recorded().notes {
		if n.Kind == faultEntry && !strings.HasPrefix(n.Where, "chaos_test.go:") {
			t.Errorf("got the note %q with the place %q, want the call of Chaos", n.Text, n.Where)
		}
	}
}

// A host that At has crashed or restarted stays as it is, and so does a link that At has set.
func TestChaosLeavesOtherFaultsAlone(t *testing.T) {
	Run(t, Seed(1), func(w *World) {
		hosts, links := five(w)
		var starts atomic.Int32
		hosts[1].Start(func(*Host) error { starts.Add(1); return nil })
		own := Path{Delay: time.Second}
		w.At(0, hosts[0].Crash)
		for _, f := range []Faults{{Crash: hosts[:1]}, {Crash: hosts[1:2]}, {Links: links[:1]}} {
			// one fault each, which begins soon and ends with the period
			f.Start, f.Until, f.Every, f.Longest = time.Second, 30*time.Second, time.Millisecond, time.Hour
			w.Chaos(f)
		}
		w.At(20*time.Second, hosts[1].Restart)
		w.At(20*time.Second, func() { links[0].Set(own) })
		time.Sleep(time.Minute)
		if !hosts[0].m.isDown() || starts.Load() != 2 {
			w.Errorf("the first host is down: %v, and the second has started %d times; want true and 2", hosts[0].m.isDown(), starts.Load())
		}
		if there, _ := links[0].link.Paths(); there != own {
			w.Errorf("got the path %+v, want that of At", there)
		}
	})
}

func TestInvalidFaultsAreRejected(t *testing.T) {
	for _, c := range []struct {
		f    func(Group) Faults
		want string
	}{
		{func(Group) Faults { return Faults{Until: time.Minute} }, "without a kind of fault"},
		{func(g Group) Faults { return Faults{Crash: g} }, "set Until to a later time"},
		{func(g Group) Faults { return Faults{Crash: g, Until: time.Minute, Every: -1} }, "negative"},
		{func(g Group) Faults { return Faults{Crash: g, Until: time.Hour, Every: 1} }, "100000 faults at most"},
		{func(g Group) Faults { return Faults{Isolate: g, Until: time.Minute} }, "the only host"},
	} {
		w := newWorld(1, nil)
		w.runIn(t, func(w *World) { w.Chaos(c.f(Group{w.Host("a")})) })
		if got := w.failedAt(); !strings.HasPrefix(got, "chaos_test.go:") || !strings.Contains(w.recorded().failures[0].Text, c.want) {
			t.Errorf("got the failure %q at %q, want %q at the call", w.recorded().failures[0].Text, got, c.want)
		}
	}
}
