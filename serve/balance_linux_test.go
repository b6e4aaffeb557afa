package serve

import (
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
)

// wantSpread checks that no loop has more than two connections more than another.
func wantSpread(t *testing.T, when string, count map[int]int, loops int) {
	t.Helper()
	var counts []int
	for i := range loops {
		counts = append(counts, count[i])
	}
	if slices.Max(counts)-slices.Min(counts) > 2 {
		t.Errorf("%s the loops have %v connections, want as many each", when, counts)
	}
}

// Connections that come one after another are spread over the loops, and new ones go to a loop that
// has lost its connections.
func TestConnectionsAreSpreadOverLoops(t *testing.T) {
	for _, w := range []Way{Loop, Coroutine} {
		t.Run(w.String(), func(t *testing.T) {
			const loops, many = 4, 64
			opened := make(chan int, 1) // Open -> test: the number of its loop
			s := service{open: func(c Conn) Session {
				opened <- loopConn(c).loop.index
				return &echo{}
			}}
			r := startService(t, w, sessions, s, Options{Loops: loops})
			count, conns := map[int]int{}, map[int][]net.Conn{}
			open := func() int {
				c := r.dial()
				n := <-opened
				count[n]++
				conns[n] = append(conns[n], c)
				return n
			}
			for range many {
				exchange(t, conns[open()][0], "here") // one after another
			}
			wantSpread(t, "after 64 connections", count, loops)

			for _, c := range conns[2] { // one loop loses its connections
				c.Close()
			}
			count[2], conns[2] = 0, nil
			left := int64(many - many/loops)
			eventually(t, "the connections of a loop closed", func() bool { return r.meter.Snapshot().Open <= left+2 })
			for range many / loops {
				exchange(t, conns[open()][0], "here")
			}
			wantSpread(t, "after as many have closed and come", count, loops)
			r.stopsCleanly()
		})
	}
}

// isSpread reports whether each process has half to twice its share of many connections.
func isSpread(count map[int]int, processes map[int]bool, many int) bool {
	share := many / len(processes)
	for pid := range processes {
		if n := count[pid]; n < share/2 || n > 2*share {
			return false
		}
	}
	return true
}

// Pre-forked processes take turns in accepting: none gets all connections.
func TestConnectionsAreSpreadOverProcesses(t *testing.T) {
	const width, many = 4, 64
	r := startService(t, Prefork, sessions, services["pid"], Options{Workers: width})
	ask := func() (pid int) {
		c := r.dial()
		defer c.Close()
		c.Write([]byte("?"))
		text, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		pid, _ = strconv.Atoi(string(text))
		return pid
	}
	up := map[int]bool{}
	eventually(t, "all processes serving", func() bool {
		up[ask()] = true
		return len(up) == width
	})
	// one of some rounds: the kernel may keep a process from running for the time of one
	var count map[int]int
	for range 5 {
		count = map[int]int{}
		for range many {
			count[ask()]++
		}
		if isSpread(count, up, many) {
			break
		}
	}
	if !isSpread(count, up, many) {
		t.Errorf("got %v as the processes' numbers of %d connections, want about %d each", count, many, many/width)
	}
	r.stopsCleanly()
}
