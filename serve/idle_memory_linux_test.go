package serve

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// idleConns is how many idle connections are weighed: WEIR_SERVETEST_IDLE, by default as many as
// descriptors are no matter.
func idleConns() int {
	if n, err := strconv.Atoi(os.Getenv("WEIR_SERVETEST_IDLE")); err == nil {
		return n
	}
	return 2000
}

// underRace reports whether the race detector keeps memory of its own.
var underRace bool

// knock connects without package net, whose connections would weigh as much as those that are
// weighed.
func knock(t *testing.T, to *net.TCPAddr) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	sa := &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	if err := syscall.Connect(fd, sa); err != nil {
		t.Fatal(err)
	}
	return fd
}

// inUse is the memory of heap and stacks that is in use.
func inUse() int {
	runtime.GC()
	runtime.GC() // stacks shrink in one and are free in the next
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// What an idle connection keeps beyond the kernel's memory is bounded: no buffer is kept for what
// may come.
func TestAnIdleConnectionKeepsLittle(t *testing.T) {
	for _, c := range []struct {
		way  Way
		most int // bytes
	}{{Loop, 410}, {Coroutine, 5632}} {
		t.Run(c.way.String(), func(t *testing.T) {
			n := idleConns()
			var limit syscall.Rlimit
			syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
			if int(limit.Cur) < 2*n+200 {
				t.Skipf("%d connections need %d descriptors: the limit is %d", n, 2*n+200, limit.Cur)
			}
			l := listen(t)
			r := beginOver(t, l, c.way, sessions, services["echo"], Options{})
			exchange(t, r.dial(), "up")
			before, fds := inUse(), make([]int, n)
			message, back := make([]byte, 1000), make([]byte, 1000)
			for i := range fds {
				fds[i] = knock(t, l.Addr().(*net.TCPAddr))
				syscall.Write(fds[i], message)
				for got := 0; got < len(back); {
					n, err := syscall.Read(fds[i], back[got:])
					if err != nil || n == 0 {
						t.Fatal(n, err)
					}
					got += n
				}
			}
			const own = 64 << 10 // what a loop has for all of its connections
			each := (inUse() - before - own) / n
			t.Logf("%s: %d bytes for each of %d idle connections", c.way, each, n)
			if each > c.most && !underRace {
				t.Errorf("an idle connection keeps %d bytes, want %d at most", each, c.most)
			}
			closeAll(fds)
			r.stopsCleanly()
		})
	}
}
