package sample

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The calibration program burns a known CPU time. Each of its processes prints its own CPU clock
// before it exits. That is the true value except for the cost of exiting, which is measured
// separately in children that do nothing else.
//
//	burn MS             one process
//	hold MS             the same, but it does not exit
//	waited N MS         N children, waited for
//	ignored N MS        N children, while SIGCHLD is ignored: the kernel reaps them
//	collect N           N cycles of the garbage collector
//	double N MS         N children that each fork another that burns, and exit at once
func runProgram(program string) {
	f := strings.Fields(program)
	arg := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	switch f[0] {
	case "burn":
		burn(time.Duration(arg(1)) * time.Millisecond)
	case "hold":
		burn(time.Duration(arg(1)) * time.Millisecond)
		fmt.Println("burnt")
		time.Sleep(time.Hour) // until it is killed
	case "waited":
		forkAll(arg(1), "burn "+f[2], true)
	case "ignored":
		signal.Ignore(syscall.SIGCHLD)
		forkAll(arg(1), "burn "+f[2], true) // wait blocks until they have exited, and then fails
	case "double":
		forkAll(arg(1), "fork "+f[2], false)
	case "collect":
		// a cycle's line may be printed after GC has returned, but before the next cycle starts
		for range arg(1) + 1 {
			runtime.GC()
		}
	case "fork":
		forkAll(1, "burn "+f[1], false)
	}
	own, _ := processClock(os.Getpid())
	fmt.Println(own.Nanoseconds())
}

func burn(d time.Duration) {
	for {
		if own, _ := processClock(os.Getpid()); own >= d {
			return
		}
	}
}

// forkAll starts n programs at once, and optionally waits for them.
func forkAll(n int, program string, wait bool) {
	var children []*os.Process
	for range n {
		p, err := os.StartProcess("/proc/self/exe", []string{programName, program}, &os.ProcAttr{
			Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		children = append(children, p)
	}
	for _, p := range children {
		if wait {
			_, _ = p.Wait()
		}
	}
}

func programCommand(program string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{programName, program},
		// otherwise the race detector sleeps a second in each exit
		Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0")}
}

// startProgram starts one of the programs above in a group; its standard output stays readable
// until all of its processes have exited.
func startProgram(t *testing.T, g *Group, pl Placement, program string) (*exec.Cmd, io.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd := programCommand(program)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := g.Start(cmd, pl); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return cmd, r
}

// exitCost returns the CPU that a process uses after it has read its own clock for the last time:
// the median of 15.
func exitCost(t *testing.T) time.Duration {
	var costs []time.Duration
	for range 15 {
		cmd := programCommand("nothing")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		_, own := sumLines(strings.NewReader(string(out)))
		costs = append(costs, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()-own)
	}
	slices.Sort(costs)
	return costs[len(costs)/2]
}

func sumLines(r io.Reader) (n int, sum time.Duration) {
	for s := bufio.NewScanner(r); s.Scan(); n++ {
		ns, _ := strconv.ParseInt(s.Text(), 10, 64)
		sum += time.Duration(ns)
	}
	return n, sum
}

// emptyCPU waits until no process is alive in the group and returns its CPU.
func emptyCPU(t *testing.T, g *Group) time.Duration {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	last := time.Duration(-1)
	for time.Now().Before(deadline) {
		pids, err := g.PIDs()
		cpu, err2 := g.CPU()
		if err != nil || err2 != nil {
			t.Fatalf("reading the group: got errors %v for its processes and %v for its CPU time, want none", err, err2)
		}
		if len(pids) == 0 && cpu == last {
			return cpu
		}
		last = cpu
		time.Sleep(10 * time.Millisecond) // interval of the check
	}
	t.Fatal("the group is not empty after 20 s, want no process and a constant CPU time")
	return 0
}

// measure runs a calibration program and returns the error of the group's CPU as a fraction of the
// true value.
func measure(t *testing.T, open func(string) (account, error), program string) (miss float64, truth time.Duration) {
	t.Helper()
	g, err := newGroup("calibrate", open)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	exit := exitCost(t)
	cmd, out := startProgram(t, g, Placement{}, program)
	ctx, stop := context.WithCancel(context.Background())
	recorded := make(chan struct{})
	// readings while it runs, as in a trial: a method that misses exited processes keeps the last
	// one
	go func() {
		defer close(recorded)
		Record(ctx, g, 5*time.Millisecond)
	}()
	n, truth := sumLines(out)
	stop()
	<-recorded
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	truth += time.Duration(n) * exit
	return float64(emptyCPU(t, g)-truth) / float64(truth), truth
}

// TestMethodsMeetTheLimits: an error below 1 % in one process, and below 3 % with children that
// exit, for every method that supports the case. The machines are shared and noisy: a limit may be
// met at the third attempt.
func TestMethodsMeetTheLimits(t *testing.T) {
	cases := []struct {
		program string
		bar     float64
		blind   []string // methods that do not support it
	}{
		{"burn 1000", 0.01, nil},
		{"waited 16 75", 0.03, []string{"clocks"}},
		{"ignored 16 75", 0.03, []string{"clocks", "subreaper"}},
		{"double 16 75", 0.03, []string{"clocks"}},
	}
	for _, w := range methods {
		for _, c := range cases {
			t.Run(w.name+"/"+c.program, func(t *testing.T) {
				if err := w.try(); err != nil {
					t.Skipf("does not work on this machine: %v", err)
				}
				claimed := !slices.Contains(c.blind, w.name)
				for range 3 {
					miss, truth := measure(t, w.open, c.program)
					t.Logf("%+.2f %% of %v", 100*miss, truth)
					if !claimed || math.Abs(miss) < c.bar {
						return
					}
				}
				t.Errorf("got errors of %.0f %% or more three times, want a smaller one at least once", 100*c.bar)
			})
		}
	}
}
