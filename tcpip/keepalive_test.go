package tcpip

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// keptAlive returns the keep-alive parameters of a connection.
func (c *Conn) keptAlive() tcp.KeepAlive {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tcp.KeepAlive()
}

// By default connections are probed as those of package net are: after 15 s, every 15 s, 9 times
// (net.KeepAliveConfig).
func TestKeepAliveIsTheNetPackages(t *testing.T) {
	standard := tcp.KeepAlive{Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 9}
	off := tcp.KeepAlive{Interval: 15 * time.Second, Count: 9}
	for name, c := range map[string]struct {
		config           tcp.Config
		dialer           Dialer
		dialed, accepted tcp.KeepAlive
	}{
		"the defaults":               {tcp.Config{}, Dialer{}, standard, standard},
		"the stack does not":         {tcp.Config{KeepAliveIdle: -1}, Dialer{}, off, off},
		"the stack does otherwise":   {tcp.Config{KeepAliveIdle: time.Second, KeepAliveInterval: 2 * time.Second, KeepAliveCount: 3}, Dialer{}, tcp.KeepAlive{Idle: time.Second, Interval: 2 * time.Second, Count: 3}, tcp.KeepAlive{Idle: time.Second, Interval: 2 * time.Second, Count: 3}},
		"the dialer does not":        {tcp.Config{}, Dialer{KeepAlive: -1}, off, standard},
		"the dialer does otherwise":  {tcp.Config{}, Dialer{KeepAlive: time.Minute}, tcp.KeepAlive{Idle: time.Minute, Interval: 15 * time.Second, Count: 9}, standard},
		"the dialer says everything": {tcp.Config{KeepAliveIdle: -1}, Dialer{KeepAlive: -1, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Hour, Interval: time.Minute, Count: 2}}, tcp.KeepAlive{Idle: time.Hour, Interval: time.Minute, Count: 2}, off},
	} {
		s := stack(t, Config{TCP: c.config})
		l := listen(t, s, "127.0.0.1:80")
		c.dialer.Stack = s
		d, err := c.dialer.Dial("tcp", "127.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := d.(*Conn).keptAlive(); got != c.dialed {
			t.Errorf("%s: a dialed connection has %+v, want %+v", name, got, c.dialed)
		}
		if got := a.(*Conn).keptAlive(); got != c.accepted {
			t.Errorf("%s: an accepted connection has %+v, want %+v", name, got, c.accepted)
		}
	}
}

// A dead peer is detected 150 s after its last segment, for connections of all kinds.
func TestKeepAliveDetectsADeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a, b := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
		ended := make(chan error, 1) // from the session, once
		if _, err := b.Serve(":7", serve.Service{Open: func(c serve.Conn) serve.Session { return &ordered{c: c, ended: ended} }}, serve.Options{}); err != nil {
			t.Fatal(err)
		}
		l := listen(t, b, ":80")
		dial(t, a, "tcp", "10.0.0.2:7")
		dial(t, a, "tcp", "10.0.0.2:80")
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		la.Close()
		begun := time.Now()
		if _, err := io.ReadAll(accepted); !gone(err) {
			t.Errorf("reading from a dead peer: got %v, want ETIMEDOUT or EHOSTUNREACH", err)
		}
		if err := <-ended; !gone(err) {
			t.Errorf("the session of a dead peer ended with %v, want ETIMEDOUT or EHOSTUNREACH", err)
		}
		if took := time.Since(begun).Round(time.Second); took != 150*time.Second {
			t.Errorf("detected after %v, want 2m30s", took)
		}
	})
}
