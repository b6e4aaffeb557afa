package sample

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachMethod runs a test with every accounting method that works on this machine.
func eachMethod(t *testing.T, f func(t *testing.T, g *Group)) {
	for _, w := range methods {
		t.Run(w.name, func(t *testing.T) {
			if err := w.try(); err != nil {
				t.Skipf("does not work on this machine: %v", err)
			}
			g, err := newGroup(t.Name(), w.open)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := g.Close(); err != nil {
					t.Errorf("Close: got error %v, want none", err)
				}
			}()
			f(t, g)
		})
	}
}

func TestGroupCountsACommand(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		if cpu, err := g.CPU(); err != nil || cpu != 0 {
			t.Errorf("an empty group: got CPU %v, error %v; want 0", cpu, err)
		}
		cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; read line")
		stdin, _ := cmd.StdinPipe()
		stdout, _ := cmd.StdoutPipe()
		if err := g.Start(cmd, Placement{CPUs: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		if cpu, err := g.CPU(); err != nil || cpu <= 0 {
			t.Errorf("a loop: got CPU %v, error %v; want more than 0", cpu, err)
		}
		stdin.Close()
		_ = cmd.Wait() // read returns EOF, which the exit status of sh reports
	})
}

func TestGroupNamesIdentifyTheirCreator(t *testing.T) {
	name := groupName("a b/../c")
	if strings.ContainsAny(name, "/. ") {
		t.Errorf("got name %q, want a safe file name", name)
	}
	if abandoned(name) {
		t.Errorf("our own %q: got abandoned, want in use", name)
	}
	dead := strings.Replace(name, "weir-"+pidNamespace(), "weir-1", 1)
	if abandoned(dead) {
		t.Errorf("%q, of another PID namespace: got abandoned, want in use: its process cannot be checked", dead)
	}
	parts := strings.SplitN(name, "-", 6)
	parts[3] = "1"
	if reused := strings.Join(parts, "-"); !abandoned(reused) {
		t.Errorf("%q, whose process ID was reused: got in use, want abandoned", reused)
	}
	if abandoned("system.slice") || abandoned("weir-x") {
		t.Error("other programs' cgroups: got abandoned, want in use: the lab removes only its own")
	}
}

func TestCloseRemovesTheCgroup(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		c, ok := g.account.(*cgroup)
		if !ok {
			t.Skip("no cgroup")
		}
		cmd := exec.Command("sh", "-c", "trap '' TERM; (trap '' TERM HUP; setsid sleep 1000 & ) ; sleep 1000")
		if err := g.Start(cmd, Placement{}); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
			t.Errorf("%s after Close: got error %v, want it removed", c.dir, err)
		}
	})
}

// TestCloseKillsADaemonAfterItsCommandHasEnded: nothing but its descent from this process identifies
// the daemon then.
func TestCloseKillsADaemonAfterItsCommandHasEnded(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		if !methodOf(t).countsExited {
			t.Skip("orphans cannot be identified")
		}
		file := filepath.Join(t.TempDir(), "pid")
		cmd := exec.Command("sh", "-c", "env -i setsid sh -c 'echo $$ > "+file+"; exec sleep 1000' & while [ ! -s "+file+" ]; do sleep .01; done")
		if err := errors.Join(g.Start(cmd, Placement{}), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		if s, ok := readStat(pid); ok && s.state != 'Z' {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("got the process %d after Close, want none", pid)
		}
	})
}

func TestGroupsAreIndependent(t *testing.T) {
	eachMethod(t, func(t *testing.T, a *Group) {
		b, err := newGroup("other", methodOf(t).open)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		cmdA, outA := startProgram(t, a, Placement{}, "hold 400")
		cmdB, outB := startProgram(t, b, Placement{}, "hold 100")
		_, _ = outA.Read(make([]byte, 1)) // they have used the CPU and do not exit
		_, _ = outB.Read(make([]byte, 1))
		cpuA, _ := a.CPU()
		cpuB, _ := b.CPU()
		if cpuA < 390*time.Millisecond || cpuB < 90*time.Millisecond || cpuB > 300*time.Millisecond {
			t.Errorf("got %[1]v and %[2]v, want 400 ms and 100 ms", cpuA, cpuB)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		_ = cmdA.Wait()
		_ = cmdB.Wait()
	})
}

// methodOf returns the accounting method of a subtest of eachMethod.
func methodOf(t *testing.T) accountingMethod {
	for _, w := range methods {
		if strings.HasSuffix(t.Name(), "/"+strings.ReplaceAll(w.name, " ", "_")) {
			return w
		}
	}
	t.Fatalf("%s is not a subtest of eachMethod, want a name that ends with a method", t.Name())
	return accountingMethod{}
}

func TestGroupOfAnExitedLabIsRemoved(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		c, ok := g.account.(*cgroup)
		if !ok {
			t.Skip("only cgroups outlive their creators")
		}
		stale := filepath.Join(filepath.Dir(c.dir), "weir-"+pidNamespace()+"-"+strconv.Itoa(os.Getpid())+"-1-1-dead")
		if err := os.Mkdir(stale, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(stale, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
		next, err := newGroup("next", methodOf(t).open)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("its process: got error %v, want killed", err)
		}
		if _, err := os.Stat(stale); !os.IsNotExist(err) {
			t.Errorf("%s still exists, want it removed: its lab has exited", stale)
		}
	})
}

func TestCommandStartsInItsNetwork(t *testing.T) {
	name := fmt.Sprintf("weir-test-%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Skipf("cannot create a network namespace: %v: %s", err, out)
	}
	defer exec.Command("ip", "netns", "delete", name).Run()
	eachMethod(t, func(t *testing.T, g *Group) {
		ours, _ := os.Readlink("/proc/self/ns/net")
		cmd := exec.Command("readlink", "/proc/self/ns/net")
		var out lines
		cmd.Stdout = &out
		if err := errors.Join(g.Start(cmd, Placement{Netns: name}), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		if theirs := strings.TrimSpace(string(out)); theirs == "" || theirs == ours {
			t.Errorf("got network namespace %q, want another than this process has, %q", theirs, ours)
		}
		for _, tid := range threads(os.Getpid()) {
			if ns, err := os.Readlink(fmt.Sprintf("/proc/self/task/%d/ns/net", tid)); err == nil && ns != ours {
				t.Errorf("our thread %d is still in %s, want %s as before", tid, ns, ours)
			}
		}
	})
}

func TestReadingsKeepTheirSchedule(t *testing.T) {
	g, err := NewGroup("schedule")
	if err != nil {
		t.Skip(err)
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	points := Record(ctx, g, 20*time.Millisecond)
	if len(points) < 2 || len(points) > 18 {
		t.Errorf("got %d readings in 300 ms at an interval of 20 ms, want 2 to 18", len(points))
	}
	for i := 1; i < len(points); i++ {
		if points[i].At <= points[i-1].At || points[i].CPU < points[i-1].CPU {
			t.Errorf("reading %d: got %+v after %+v, want a later time and no less CPU", i, points[i], points[i-1])
		}
	}
}
