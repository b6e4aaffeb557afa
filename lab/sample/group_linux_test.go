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
	"testing"
	"time"
)

// eachWay runs a test under every ruler that works here.
func eachWay(t *testing.T, f func(t *testing.T, g *Group)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if err := w.try(); err != nil {
				t.Skipf("doesn't work here: %v", err)
			}
			g, err := newGroup(t.Name(), w.open)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := g.Close(); err != nil {
					t.Error("Close: ", err)
				}
			}()
			f(t, g)
		})
	}
}

func TestGroupCountsACommand(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		if cpu, err := g.CPU(); err != nil || cpu != 0 {
			t.Errorf("an empty group has used %v, %v", cpu, err)
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
			t.Errorf("a loop cost %v, %v", cpu, err)
		}
		stdin.Close()
		_ = cmd.Wait() // read finds the end of its input, and sh says so by its exit status
	})
}

func TestGroupNamesTheirDeadMakers(t *testing.T) {
	name := groupName("a b/../c")
	if strings.ContainsAny(name, "/. ") {
		t.Errorf("%q is no safe file name", name)
	}
	if abandoned(name) {
		t.Errorf("our own %q counts as abandoned", name)
	}
	dead := strings.Replace(name, "weir-"+pidNamespace(), "weir-1", 1)
	if abandoned(dead) {
		t.Errorf("%q is from another PID namespace and can't be judged", dead)
	}
	parts := strings.SplitN(name, "-", 6)
	parts[3] = "1"
	if reused := strings.Join(parts, "-"); !abandoned(reused) {
		t.Errorf("%q: its process ID has been taken by another, so it is abandoned", reused)
	}
	if abandoned("system.slice") || abandoned("weir-x") {
		t.Error("foreign cgroups count as abandoned")
	}
}

func TestCloseRemovesTheCgroup(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
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
			t.Errorf("%s is still there: %v", c.dir, err)
		}
	})
}

func TestGroupsAreApart(t *testing.T) {
	eachWay(t, func(t *testing.T, a *Group) {
		b, err := newGroup("other", wayOf(t).open)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		cmdA, outA := startProgram(t, a, Placement{}, "hold 400")
		cmdB, outB := startProgram(t, b, Placement{}, "hold 100")
		_, _ = outA.Read(make([]byte, 1)) // they have burnt it and live on
		_, _ = outB.Read(make([]byte, 1))
		cpuA, _ := a.CPU()
		cpuB, _ := b.CPU()
		if cpuA < 390*time.Millisecond || cpuB < 90*time.Millisecond || cpuB > 300*time.Millisecond {
			t.Errorf("400 ms and 100 ms were burnt; counted %v and %v", cpuA, cpuB)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		_ = cmdA.Wait()
		_ = cmdB.Wait()
	})
}

// wayOf finds the ruler that a subtest of eachWay is about.
func wayOf(t *testing.T) way {
	for _, w := range ways {
		if strings.HasSuffix(t.Name(), "/"+strings.ReplaceAll(w.name, " ", "_")) {
			return w
		}
	}
	t.Fatal("no ruler's subtest: ", t.Name())
	return way{}
}

func TestWhatADeadLabLeftIsRemoved(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		c, ok := g.account.(*cgroup)
		if !ok {
			t.Skip("only cgroups outlive their makers")
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
		next, err := newGroup("next", wayOf(t).open)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("what ran in it ended with %v", err)
		}
		if _, err := os.Stat(stale); !os.IsNotExist(err) {
			t.Errorf("%s is still there", stale)
		}
	})
}

func TestACommandStartsInItsNetwork(t *testing.T) {
	name := fmt.Sprintf("weir-test-%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made: %v: %s", err, out)
	}
	defer exec.Command("ip", "netns", "delete", name).Run()
	eachWay(t, func(t *testing.T, g *Group) {
		ours, _ := os.Readlink("/proc/self/ns/net")
		cmd := exec.Command("readlink", "/proc/self/ns/net")
		var out lines
		cmd.Stdout = &out
		if err := errors.Join(g.Start(cmd, Placement{Netns: name}), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		if theirs := strings.TrimSpace(string(out)); theirs == "" || theirs == ours {
			t.Errorf("it ran in %q, and we are in %q", theirs, ours)
		}
		for _, tid := range threads(os.Getpid()) {
			if ns, err := os.Readlink(fmt.Sprintf("/proc/self/task/%d/ns/net", tid)); err == nil && ns != ours {
				t.Errorf("our thread %d stayed in %s", tid, ns)
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
		t.Errorf("%d readings in 300 ms, one each 20 ms", len(points))
	}
	for i := 1; i < len(points); i++ {
		if points[i].At <= points[i-1].At || points[i].CPU < points[i-1].CPU {
			t.Errorf("reading %d is %+v after %+v", i, points[i], points[i-1])
		}
	}
}
