package serve

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// idleConns returns how many idle connections are measured: WEIR_SERVETEST_IDLE, by default as many
// as the descriptor limit allows easily.
func idleConns() int {
	if n, err := strconv.Atoi(os.Getenv("WEIR_SERVETEST_IDLE")); err == nil {
		return n
	}
	return 2000
}

// underRace is set under the race detector, which keeps memory of its own.
var underRace bool

// rawDial connects without package net, whose connections would use as much memory as the measured
// ones.
func rawDial(t *testing.T, to *net.TCPAddr) int {
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

// inUse returns the bytes of heap and stacks in use.
func inUse() int {
	runtime.GC()
	runtime.GC() // stacks shrink in one and are free in the next
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// The memory of an idle connection, apart from the kernel's, is bounded: it keeps no buffer.
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
			r := startServiceOver(t, l, c.way, sessions, services["echo"], Options{})
			exchange(t, r.dial(), "up")
			before, fds := inUse(), make([]int, n)
			message, back := make([]byte, 1000), make([]byte, 1000)
			for i := range fds {
				fds[i] = rawDial(t, l.Addr().(*net.TCPAddr))
				syscall.Write(fds[i], message)
				for got := 0; got < len(back); {
					n, err := syscall.Read(fds[i], back[got:])
					if err != nil || n == 0 {
						t.Fatalf("reading an echo: got %d bytes, error %v; want all %d bytes", n, err, len(back))
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
