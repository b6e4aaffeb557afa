package serve

import (
	"context"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// contextSwitches returns how often the threads of this process have waited.
func contextSwitches(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		// a thread may have ended
		status, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		v, _ := strconv.Atoi(strings.TrimSpace(line))
		n += v
	}
	return n
}

// An idle loop sleeps, and later bytes, posts and timers are handled as before.
func TestAnIdleLoopSleeps(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1) // Run's result; one
	go func() {
		over <- RunBlocking(ctx, Coroutine, l, Handler{Handle: func(c net.Conn) { echoTo(c, 0) }, State: PerConnection}, Options{})
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exchange(t, c, "before")
	const most = 20      // a loop that keeps sysmon awake has 50 and more
	least := math.MaxInt // of half a second
	for end := time.Now().Add(hangLimit); least >= most && time.Now().Before(end); {
		before := contextSwitches(t)
		time.Sleep(500 * time.Millisecond)
		least = min(least, contextSwitches(t)-before)
	}
	if least >= most {
		t.Errorf("with one idle connection: got %d context switches in half a second at least, want fewer than %d", least, most)
	}
	exchange(t, c, "after")
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
