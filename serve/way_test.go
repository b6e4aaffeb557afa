package serve

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noDescriptor is a listener without a descriptor, as of TLS or a stack in user space.
type noDescriptor struct{ net.Listener }

func TestRunRejectsServicesThatItsModelCannotServe(t *testing.T) {
	per, in := serviceForm{open: services["echo"].open, state: PerConnection}, serviceForm{open: services["echo"].open}
	handler := serviceForm{handle: services["echo"].handle, state: PerConnection}
	child := Options{ChildCommand: []string{"self"}}
	for _, c := range []struct {
		why  string
		way  Way
		work serviceForm
		bare bool // the listener has no descriptor
		o    Options
		want string // part of the reason; empty: accepted
	}{
		{"rooms over goroutines", Goroutine, in, true, child, ""},
		{"rooms over a pool", Pool, in, true, child, ""},
		{"rooms over a loop", Loop, in, false, child, ""},
		{"rooms over pre-forked processes", Prefork, in, false, child, "in one process"},
		{"rooms over processes", Process, in, false, child, "in one process"},
		{"a sink over processes", Process, per, false, child, ""},
		{"a loop over TLS", Loop, per, true, child, "file descriptor"},
		{"coroutines over TLS", Coroutine, handler, true, child, "file descriptor"},
		{"pre-forked processes over TLS", Prefork, per, true, child, "file descriptor"},
		{"a handler on a loop", Loop, handler, false, child, "coroutine"},
		{"a session on a coroutine", Coroutine, per, false, child, ""},
		{"processes without a child command", Process, per, false, Options{}, "Options.ChildCommand"},
		{"nothing to run", Goroutine, serviceForm{}, false, Options{}, "neither Open nor Handle"},
		{"a child of goroutines", Goroutine, per, false, Options{IsChild: true}, "inherited"},
		{"a child with a listener", Process, per, false, Options{IsChild: true}, "takes no listener"},
		{"an unknown model", Way(99), per, false, Options{}, "unknown concurrency model"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var over net.Listener = l
		if c.bare {
			over = noDescriptor{l}
		}
		got := c.way.reject(over, c.work, c.o)
		l.Close()
		if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want a reason with %q", c.why, got, c.want)
		}
	}
}

func TestARefusalClosesTheListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), Prefork, l, Service{Open: services["echo"].open}, Options{}); err == nil {
		t.Fatal("Prefork accepted a service with state in one process, want an error")
	}
	l.(*net.TCPListener).SetDeadline(time.Now())
	if _, err := l.Accept(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("accepting after the refusal: got error %v, want a closed listener", err)
	}
}

func TestEveryModelIsParsedByItsName(t *testing.T) {
	for w := range Ways {
		if got, err := ParseWay(Way(w).String()); err != nil || got != Way(w) {
			t.Errorf("ParseWay(%q): got %v, error %v; want %v", Way(w).String(), got, err, Way(w))
		}
	}
	if _, err := ParseWay("fibre"); err == nil || !strings.Contains(err.Error(), "goroutine, pool, loop") {
		t.Errorf("an unknown way: %v, want the names", err)
	}
}

// TLS has no descriptor; the blocking models serve it, drains included.
func TestBlockingWaysServeListenersWithoutDescriptor(t *testing.T) {
	if _, ok := any(tls.NewListener(nil, nil)).(interface{ SyscallConn() }); ok {
		t.Fatal("TLS listeners have a descriptor, want none: otherwise the table of concurrency models is out of date")
	}
	for _, w := range []Way{Goroutine, Pool} {
		for _, f := range []form{sessions, handlers} {
			t.Run(w.String()+"/"+string(f), func(t *testing.T) {
				r := startServiceOver(t, bareListener{listen(t)}, w, f, services["late"], Options{})
				drains(t, r, w)
			})
		}
	}
}

// bareListener hides the descriptors of its connections, too.
type bareListener struct{ net.Listener }

type bareConn struct{ net.Conn }

func (l bareListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return bareConn{c}, nil
}

// Any listener of package net works: here a socket file, which must be removed at the end.
func TestEveryWayServesSocketFiles(t *testing.T) {
	for w, trait := range Ways {
		if trait.LinuxOnly && !onLinux {
			continue
		}
		t.Run(trait.Name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", name)
			if err != nil {
				t.Fatal(err)
			}
			r := startServiceOver(t, l, Way(w), sessions, services["echo"], Options{})
			c, err := net.Dial("unix", name)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			exchange(t, c, "over a file")
			r.stopsCleanly()
			if _, err := os.Stat(name); err == nil {
				t.Error("the socket file still exists after the stop, want it removed")
			}
		})
	}
}
