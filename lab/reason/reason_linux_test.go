package reason

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weir/lab/sample"
)

// echoes starts cat in a group and returns a function that sends bytes and waits for their echo.
func echoes(t *testing.T) (*sample.Group, func(n int)) {
	t.Helper()
	g, err := sample.NewGroup("reason-test")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("cat")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatalf("the pipes of cat: got errors %v and %v, want none", err1, err2)
	}
	if err := g.Start(cmd, sample.Placement{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	r := bufio.NewReader(out)
	return g, func(n int) {
		for range n {
			if _, err := io.WriteString(in, "x"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ReadByte(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// near reports whether n is at least want and not much more: the first and last event can be
// outside.
func near(n int64, want int) bool { return n >= int64(want)-2 && n <= int64(want)*11/10+20 }

func TestTracepointsCountEvents(t *testing.T) {
	g, echo := echoes(t)
	echo(10)
	const messages, tries = 2000, 3
	for try := 1; ; try++ {
		p, err := tracepoints(g)
		if err != nil {
			t.Skip(err)
		}
		before, _ := g.Census()
		echo(messages)
		after, _ := g.Census()
		c, err := p.stop()
		if err != nil {
			t.Fatal(err)
		}
		slept, yielded := after.Voluntary-before.Voluntary, after.Involuntary-before.Involuntary
		t.Logf("%+v; the kernel says that it waited %d times and yielded %d times", c, slept, yielded)
		if !near(c.ByName["read"], messages) || !near(c.ByName["write"], messages) || !near(c.Syscalls, 2*messages) {
			t.Fatalf("%d messages through cat: got %+v, want a read and a write for each", messages, c)
		}
		// A machine under heavy load was seen to report fewer wake-ups than waits, so the test is
		// repeated.
		if near(c.Wakeups, int(slept)) && near(c.Switches, int(slept+yielded)) {
			return
		}
		if try == tries {
			t.Fatalf("got %+v; want as many wake-ups of cat as waits, and a switch for every wait or yield", c)
		}
	}
}

func TestStraceCountsSystemCalls(t *testing.T) {
	g, echo := echoes(t)
	s, err := strace(g)
	if err != nil {
		t.Skip(err)
	}
	const messages = 200
	echo(messages)
	c, err := s.stop()
	if err != nil {
		t.Fatal(err)
	}
	if !near(c.ByName["read"], messages) || !near(c.ByName["write"], messages) || c.Wakeups != -1 || c.Switches != -1 {
		t.Errorf("%d messages through cat: got %+v; want a read and a write for each, and neither wake-ups nor switches (-1)", messages, c)
	}
	echo(1) // it still works after the tracing
}

func TestCountsAreDividedByMessages(t *testing.T) {
	c := Counts{Tool: "strace", Syscalls: 30, ByName: map[string]int64{"read": 20, "write": 10}, Wakeups: -1, Switches: -1}
	r := c.Per(10)
	if r.Syscalls != 3 || r.ByName["read"] != 2 || r.Wakeups != -1 || r.Switches != -1 || r.Messages != 10 {
		t.Errorf("got %+v; want 3 system calls and 2 reads per message, and -1 for what was not counted", r)
	}
}

func TestSwitchCostsAreMeasuredForEachKind(t *testing.T) {
	costs, err := SwitchCosts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range costs {
		names = append(names, c.Between)
		if !(0 < c.Low && c.Low <= c.NS && c.NS <= c.High) || c.How == "" {
			t.Errorf("got %+v, want a cost within its bounds, above 0, with how it was measured", c)
		}
		t.Logf("%-11s %8.0f ns (%.0f to %.0f)", c.Between, c.NS, c.Low, c.High)
	}
	if got := strings.Join(names, " "); got != "processes threads goroutines channel coroutines" {
		t.Errorf("got the costs of %s, want processes, threads, goroutines, channel and coroutines", got)
	}
}

func TestSwitchCostsStopWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if costs, err := SwitchCosts(ctx); err == nil || len(costs) != 0 {
		t.Errorf("a cancelled context: got %v, error %v; want no costs and an error", costs, err)
	}
}

func TestFormatsAreParsed(t *testing.T) {
	const format = "name: sched_switch\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	if p, ok := parseFormat(format, "prev_pid"); !ok || p.offset != 24 || p.size != 4 {
		t.Errorf("prev_pid: got %+v, present: %t; want offset 24 and size 4", p, ok)
	}
	for _, field := range []string{"pid", "prev_comm[16]", "next_pid"} {
		if p, ok := parseFormat(format, field); ok {
			t.Errorf("%s: got %+v, want it absent", field, p)
		}
	}
}

const table = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000030           3        10           read
 40.00    0.000020           2         8         1 write
------ ----------- ----------- --------- --------- ----------------
100.00    0.000050           2        18         1 total
`

func FuzzStraceTable(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, text string) {
		calls := parseTable(text)
		var again strings.Builder
		for name, n := range calls {
			fmt.Fprintf(&again, " 0.00 0.000000 0 %d %s\n", n, name)
		}
		for name, n := range parseTable(again.String()) {
			if calls[name] != n {
				t.Errorf("%q: %s: got %d, and %d when parsed again; want the same", text, name, calls[name], n)
			}
		}
	})
}

func TestStraceTableIsParsed(t *testing.T) {
	if c := parseTable(table); len(c) != 2 || c["read"] != 10 || c["write"] != 8 {
		t.Errorf("got %v, want 10 reads and 8 writes", c)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	for _, pattern := range []string{"weir-strace-*", "weir-tracefs-*"} {
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), pattern)); len(left) > 0 {
			t.Errorf("got files left behind: %v, want none", left)
		}
	}
}

// TestCollectorRunsDuringSwitchCosts: a raw wait can hang the process if the garbage collector
// stops one of two threads that wait for each other.
func TestCollectorRunsDuringSwitchCosts(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		cycles := 0
		for {
			select {
			case <-stop:
				stopped <- cycles
				return
			default:
				runtime.GC()
				cycles++
			}
		}
	}()
	_, err := SwitchCosts(context.Background())
	close(stop)
	if cycles := <-stopped; err != nil || cycles < 10 {
		t.Errorf("got %d cycles of the collector, error %v; want 10 or more during the measurement", cycles, err)
	}
}
