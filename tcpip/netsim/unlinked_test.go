package netsim

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A connection from or to a host that has no link fails at once, with an error that names the host.
// A failed world names the hosts without a link: they may talk to themselves.
func TestHostsWithoutALinkAreNamed(t *testing.T) {
	w := newWorld(1, nil)
	w.runIn(t, func(w *World) {
		a, b, alone := w.Host("a"), w.Host("b"), w.Host("alone")
		w.Link(a, b, Path{Delay: time.Millisecond})
		for _, c := range []struct {
			from     *Host
			to, want string
		}{
			{alone, "a:7", `the host "alone" has no link`},
			{a, "alone:7", `the host "alone" has no link`},
			{a, "ALONE.:7", `the host "alone" has no link`},
			{a, alone.Addr().String() + ":7", `the host "alone" has no link`},
			{alone, "10.9.9.9:7", `the host "alone" has no link`},
			{alone, "unknown:7", "no such host"},
			{alone, "alone:7", syscall.ECONNREFUSED.Error()},
			{alone, "localhost:7", syscall.ECONNREFUSED.Error()},
			{alone, "[::1]:7", syscall.ECONNREFUSED.Error()},
			{alone, ":7", syscall.ECONNREFUSED.Error()},
		} {
			_, err := c.from.Dial("tcp", c.to)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, "no link") && !errors.Is(err, syscall.ENETUNREACH) {
				w.Errorf("%s dials %s: got %v, want %q, and ENETUNREACH if it has no link", c.from.Name(), c.to, err, c.want)
			}
		}
		if w.Elapsed() > time.Millisecond {
			w.Errorf("the errors took %v, want less than 1ms", w.Elapsed())
		}
		for _, network := range []string{"tcp", "udp"} {
			if _, err := alone.Dial(network, "a:7"); err == nil {
				w.Errorf("%s: got a connection from a host without a link, want none", network)
			}
		}
		l, err := alone.Listen("tcp", "127.0.0.1:80")
		if err != nil {
			w.Fatal(err)
		}
		defer l.Close()
		c, err := alone.Dial("tcp", "localhost:80")
		if err != nil {
			w.Fatal(err)
		}
		c.Close()
	})
	rec := w.recorded()
	for _, f := range rec.failures {
		t.Error(f.Text)
	}
	if got, want := rec.unlinkedText(), "No link joins these hosts to the network (World.Link, World.Join): alone."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (record{unlinked: make([]string, 30)}).unlinkedText(); !strings.HasSuffix(got, ", and 20 more.") {
		t.Errorf("got %q for 30 hosts, want the first 10, and 20 more", got)
	}
}

// A single host talks to itself: it needs no link.
func TestASingleHostNeedsNoLink(t *testing.T) {
	w := newWorld(1, nil)
	w.runIn(t, func(w *World) { w.Host("alone") })
	if got := w.recorded().unlinkedText(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// A program that dials and listens before its host is linked, at the same time, finds the link.
func TestAHostIsLinkedAfterItsProgramHasStarted(t *testing.T) {
	w := newWorld(1, nil)
	w.runIn(t, func(w *World) {
		a, b := w.Host("a"), w.Host("b")
		l, err := b.Listen("tcp", ":80")
		if err != nil {
			w.Fatal(err)
		}
		defer l.Close()
		dialed := make(chan error) // of the dial
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		go func() {
			_, err := a.DialContext(ctx, "tcp", "b:80")
			dialed <- err
		}()
		runtime.Gosched() // the program comes first
		w.Link(a, b, Path{Delay: time.Millisecond})
		if err := <-dialed; err != nil {
			w.Errorf("got %v, want a connection", err)
		}
	})
	if got := w.recorded().unlinkedText(); got != "" || w.Failed() {
		t.Errorf("got %q and the failures %v, want none", got, w.recorded().failures)
	}
}
