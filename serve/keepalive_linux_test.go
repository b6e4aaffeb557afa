package serve

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// Connections have the keep-alive settings of package net, those that were queued before Run and
// later ones.
func TestLoopsKeepConnectionsAliveAsPackageNetDoes(t *testing.T) {
	l := listen(t)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	var want [5]int
	raw, _ := accepted.(*net.TCPConn).SyscallConn()
	raw.Control(func(fd uintptr) { want = socketSettings(int(fd)) })
	for _, w := range []Way{Loop, Coroutine} {
		l := listen(t)
		early, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer early.Close()
		got := make(chan [5]int, 2) // Open -> test
		r := startServiceOver(t, l, w, sessions, service{open: func(c Conn) Session {
			got <- socketSettings(loopConn(c).fd)
			return &echo{}
		}}, Options{})
		for _, when := range []string{"before Run", "later"} {
			select {
			case got := <-got:
				if got != want {
					t.Errorf("%s, a connection that came %s: %v, want %v", w, when, got, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: the connection that came %s was not opened within 20 s, want it opened", w, when)
			}
			// the loop has seen its queue empty, or will before the next connection
			exchange(t, early, "up")
			r.dial()
		}
		r.stopsCleanly()
	}
}

// socketSettings returns TCP_NODELAY, SO_KEEPALIVE, and the three keep-alive parameters.
func socketSettings(fd int) (s [5]int) {
	for i, o := range [5][2]int{{syscall.IPPROTO_TCP, syscall.TCP_NODELAY}, {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT}} {
		s[i], _ = syscall.GetsockoptInt(fd, o[0], o[1])
	}
	return s
}
