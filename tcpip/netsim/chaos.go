package netsim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"weir/tcpip/fabric"
)

// Faults are the random faults of World.Chaos. Each of the first five fields is a kind of fault;
// one that is empty does not occur. The others are drawn equally often, and one for which no host
// or link is free is left out.
type Faults struct {
	Crash   Group    // hosts that crash and restart
	Pause   Group    // hosts that pause and resume
	Isolate Group    // hosts that are cut off from others, in one direction or both
	Links   []*Link  // links with up to 500 ms more delay and 50% loss, in one direction or both
	Other   []func() // faults without an end, such as NAT.Forget: called as by World.At

	// Start and Until are times since the start of the world: no fault begins before Start, default
	// now, and all have ended a little before Until
	Start, Until time.Duration
	Every        time.Duration // mean time between the beginnings of two faults. Default 10 s
	// longest duration of a fault; the shortest is a hundredth of it, and each order of magnitude
	// is equally frequent. Default 30 s
	Longest time.Duration
	// at most so many hosts are down, paused or cut off at a time. Default 1
	MaxHosts int
}

// The defaults of Faults.
const (
	defaultEvery   = 10 * time.Second
	defaultLongest = 30 * time.Second
)

// endMargin is how much earlier than Until all faults have ended: a test that wakes up at Until
// must find them so.
const endMargin = time.Millisecond

// maxFaults limits Faults: about as many are drawn for its period.
const maxFaults = 100_000

// The worst that happens to a path of Faults.Links.
const (
	worstDelay = 500 * time.Millisecond
	worstLoss  = 0.5
)

// Chaos schedules random faults, which the seed chooses. It is for the goroutine of the test, when
// the hosts are there. Each fault is one with its end, as far as the report and the search for the
// faults that are needed are concerned.
//
// A host and a link have one fault of a call of Chaos at a time, and there is one partition at a
// time: some hosts of Isolate, and either one other host or all others. Its end also ends other
// partitions between the same hosts. A link whose path was changed meanwhile keeps that path, and a
// host that was restarted meanwhile is not restarted again.
func (w *World) Chaos(f Faults) {
	w.Helper()
	p := &planner{Faults: f.withDefaults(w.Elapsed()), w: w, where: w.caller(), all: w.Others(), random: rand.New(rand.NewPCG(w.random.Uint64(), 2))}
	if err := p.check(); err != nil {
		w.Fatal(err)
	}
	p.draw()
	for _, c := range p.plan {
		w.addFault(fault{At: c.from, Where: p.where, Text: c.text}, func() {
			if end := c.begin(); end != nil {
				time.AfterFunc(max(0, c.until-w.Elapsed()), func() { w.endFault(end) })
			}
		})
	}
}

// endFault ends a fault, if the world has not ended.
func (w *World) endFault(end func()) {
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return
	}
	defer w.catch("the end of a fault")
	end()
}

func (f Faults) withDefaults(now time.Duration) Faults {
	f.Start = max(f.Start, now)
	if f.Every == 0 {
		f.Every = defaultEvery
	}
	if f.Longest == 0 {
		f.Longest = defaultLongest
	}
	if f.MaxHosts == 0 {
		f.MaxHosts = 1
	}
	return f
}

// plannedFault is a fault of a plan.
type plannedFault struct {
	from, until time.Duration
	hosts       Group // that are down, paused or cut off
	link        *Link // that is bad; nil: none
	partition   bool
	text        string // what it does; "": a function of the test
	// begin does it, and returns what ends it; nil: nothing does
	begin func() (end func())
}

// planner draws a plan of faults.
type planner struct {
	Faults
	w      *World
	where  string // the call of Chaos
	all    Group  // the hosts of the world
	random *rand.Rand
	plan   []plannedFault
}

func (p *planner) check() error {
	switch {
	case len(p.Crash)+len(p.Pause)+len(p.Isolate)+len(p.Links)+len(p.Other) == 0:
		return errors.New("netsim: Chaos without a kind of fault: set Crash, Pause, Isolate, Links or Other")
	case p.Until <= p.Start:
		return fmt.Errorf("netsim: Chaos from %v until %v, since the start of the world: set Until to a later time", p.Start, p.Until)
	case p.Every < 0 || p.Longest < 0 || p.MaxHosts < 0:
		return fmt.Errorf("netsim: Chaos with Every %v, Longest %v and MaxHosts %d: make none of them negative", p.Every, p.Longest, p.MaxHosts)
	case (p.Until-p.Start)/p.Every > maxFaults:
		return fmt.Errorf("netsim: Chaos for %v with a fault every %v: make it %d faults at most", p.Until-p.Start, p.Every, maxFaults)
	case len(p.Isolate) > 0 && len(p.all) < 2:
		return errors.New("netsim: Chaos is to isolate the only host: add another one first")
	}
	return nil
}

// draw draws the plan. A fault for which no host or link is free is left out.
func (p *planner) draw() {
	var kinds []func(*plannedFault) bool
	for _, k := range []struct {
		count int
		draw  func(*plannedFault) bool
	}{{len(p.Crash), p.drawCrash}, {len(p.Pause), p.drawPause}, {len(p.Isolate), p.drawPartition}, {len(p.Links), p.drawLink}, {len(p.Other), p.drawOther}} {
		if k.count > 0 {
			kinds = append(kinds, k.draw)
		}
	}
	at, last := p.Start, p.Until-endMargin
	for {
		at += time.Duration(p.random.ExpFloat64() * float64(p.Every))
		if at >= last {
			return
		}
		c := plannedFault{from: at, until: min(at+p.duration(), last)}
		if kinds[p.random.IntN(len(kinds))](&c) {
			p.plan = append(p.plan, c)
		}
	}
}

// duration draws the duration of a fault: its logarithm is uniformly distributed.
func (p *planner) duration() time.Duration {
	return time.Duration(float64(p.Longest) * math.Pow(100, -p.random.Float64()))
}

// active returns the faults that have begun and not ended at a time.
func (p *planner) active(at time.Duration) (all []plannedFault) {
	for _, c := range p.plan {
		if c.until > at {
			all = append(all, c)
		}
	}
	return all
}

// some returns up to limit of the hosts that are free at a time; none if too many are not.
func (p *planner) some(of Group, at time.Duration, limit int) Group {
	var busy Group
	for _, c := range p.active(at) {
		busy = append(busy, c.hosts...)
	}
	free := slices.DeleteFunc(slices.Clone(of), busy.has)
	limit = min(limit, p.MaxHosts-len(busy), len(free))
	if limit < 1 {
		return nil
	}
	p.random.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	return free[:1+p.random.IntN(limit)]
}

func (g Group) has(h *Host) bool {
	return slices.ContainsFunc(g, func(x *Host) bool { return x.m == h.m })
}

func (p *planner) drawCrash(c *plannedFault) bool {
	if c.hosts = p.some(p.Crash, c.from, 1); c.hosts == nil {
		return false
	}
	m := c.hosts[0].m
	c.text = fmt.Sprintf("crash %s, restart after %v", m.node.Name(), c.rounded())
	c.begin = func() func() {
		if !m.crash(p.where) {
			return nil
		}
		return func() {
			if m.isDown() {
				m.restart(p.where)
			}
		}
	}
	return true
}

func (p *planner) drawPause(c *plannedFault) bool {
	if c.hosts = p.some(p.Pause, c.from, 1); c.hosts == nil {
		return false
	}
	m := c.hosts[0].m
	c.text = fmt.Sprintf("pause %s for %v", m.node.Name(), c.rounded())
	c.begin = func() func() {
		if m.isDown() {
			return nil
		}
		m.pause(p.where)
		return func() {
			if !m.isDown() {
				m.resume(p.where)
			}
		}
	}
	return true
}

func (p *planner) drawPartition(c *plannedFault) bool {
	if slices.ContainsFunc(p.active(c.from), func(x plannedFault) bool { return x.partition }) {
		return false
	}
	if c.hosts = p.some(p.Isolate, c.from, len(p.all)-1); c.hosts == nil {
		return false
	}
	c.partition = true
	others := slices.DeleteFunc(slices.Clone(p.all), c.hosts.has)
	if p.random.IntN(2) == 0 {
		others = Group{others[p.random.IntN(len(others))]}
	}
	a, b, oneWay := c.hosts, others, p.random.IntN(2) == 0
	if oneWay && p.random.IntN(2) == 0 {
		a, b = b, a
	}
	c.text = fmt.Sprintf("partition %s for %v", sidesOf(a, b, oneWay), c.rounded())
	c.begin = func() func() {
		p.w.partition(p.where, a, b, oneWay)
		return func() { p.w.healBetween(p.where, a, b) }
	}
	return true
}

func (p *planner) drawLink(c *plannedFault) bool {
	l := p.Links[p.random.IntN(len(p.Links))]
	delay, loss, directions := time.Duration(p.random.Int64N(int64(worstDelay))), worstLoss*p.random.Float64(), p.random.IntN(3)
	if slices.ContainsFunc(p.active(c.from), func(x plannedFault) bool { return x.link == l }) {
		return false
	}
	c.link = l
	a, b := l.link.Ends()
	what := fmt.Sprintf("link %s: %v more delay, %.0f%% loss", []string{a.Name() + " - " + b.Name(), a.Name() + " -> " + b.Name(), b.Name() + " -> " + a.Name()}[directions], delay.Round(time.Millisecond), 100*loss)
	c.text = fmt.Sprintf("%s for %v", what, c.rounded())
	worse := func(path fabric.Path) fabric.Path {
		path.Delay += delay
		path.Loss = max(path.Loss, loss)
		return path
	}
	c.begin = func() func() { return p.impair(l, what, directions, worse) }
	return true
}

// impair makes the paths of a link worse: those of both directions (0), the first (1) or the second
// (2). It returns what restores them.
func (p *planner) impair(l *Link, what string, directions int, worse func(fabric.Path) fabric.Path) (restore func()) {
	there, back := l.link.Paths()
	badThere, badBack := there, back
	if directions != 2 {
		badThere = worse(there)
	}
	if directions != 1 {
		badBack = worse(back)
	}
	set := func(text string, there, back fabric.Path) {
		p.w.noteFault(p.where, text)
		if err := l.link.Set(there, back); err != nil {
			p.w.Error(err)
		}
	}
	set(what, badThere, badBack)
	return func() {
		if x, y := l.link.Paths(); x == badThere && y == badBack {
			a, b := l.link.Ends()
			set(fmt.Sprintf("link %s - %s: as before", a.Name(), b.Name()), there, back)
		}
	}
}

func (p *planner) drawOther(c *plannedFault) bool {
	call := p.Other[p.random.IntN(len(p.Other))]
	c.until = c.from
	c.begin = func() func() {
		call()
		return nil
	}
	return true
}

// rounded returns the duration of a fault, to be read.
func (c *plannedFault) rounded() time.Duration { return (c.until - c.from).Round(time.Millisecond) }
