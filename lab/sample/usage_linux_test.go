package sample

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mustWork skips where no process tree can be accounted for.
func mustWork(t *testing.T) {
	if _, err := works(); err != nil {
		t.Skip(err)
	}
}

// noneLeft fails if a group of this process is still there, or one of the processes.
func noneLeft(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if s, ok := readStat(pid); ok && s.state != 'Z' {
			t.Errorf("process %d (%s) is left", pid, s.name)
		}
	}
	for _, controller := range []string{"", "cpuacct"} {
		h, err := findHierarchy(controller)
		if err != nil {
			continue
		}
		for _, dir := range append(upwards(h), h.mount) {
			left, _ := filepath.Glob(filepath.Join(dir, "weir-*-"+strconv.Itoa(os.Getpid())+"-*"))
			if len(left) > 0 {
				t.Errorf("cgroups are left: %v", left)
			}
		}
	}
}

func TestACommandIsMeasuredUntilItEnds(t *testing.T) {
	mustWork(t)
	cmd := exec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done; exit 3")
	u, err := Measure(context.Background(), cmd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if !errors.As(u.Exit, &exit) || exit.ExitCode() != 3 || !u.ByItself || u.Left != 0 {
		t.Errorf("it ended %v, by itself %v, left %d", u.Exit, u.ByItself, u.Left)
	}
	if ratio := float64(u.CPU) / float64(u.Waited); ratio < 0.97 || ratio > 1.03 {
		t.Errorf("CPU %v, but its parent waited for %v", u.CPU, u.Waited)
	}
	if u.Wall <= 0 || u.Peak.Processes < 1 || len(u.Points) < 2 || u.Ruler.Name == "" {
		t.Errorf("something is missing: %+v", u)
	}
	noneLeft(t)
}

func TestACommandThatIgnoresSIGTERMIsKilled(t *testing.T) {
	mustWork(t)
	u, err := Measure(context.Background(), exec.Command("sh", "-c", "trap '' TERM; sleep 1000"), Options{Duration: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if u.ByItself || u.Left == 0 {
		t.Errorf("it ended by itself: %v, killed: %d", u.ByItself, u.Left)
	}
	noneLeft(t)
}

func TestACommandThatForksAwayIsFollowedAndEnded(t *testing.T) {
	mustWork(t)
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", "setsid sh -c 'echo $$ > "+file+"; i=0; while :; do i=$((i+1)); done' & exit 0")
	u, err := Measure(context.Background(), cmd, Options{Duration: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if !u.ByItself || u.Exit != nil || pid == 0 {
		t.Errorf("it ended by itself: %v, %v; pid %d", u.ByItself, u.Exit, pid)
	}
	if u.Waited > u.CPU/2 {
		t.Errorf("of %v, %v were waited for: the part that forked away isn't counted", u.CPU, u.Waited)
	}
	noneLeft(t, pid)
}

func TestAnInterruptEndsTheCommandAndKeepsTheFigures(t *testing.T) {
	mustWork(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "echo up; exec sleep 1000")
	cmd.Stdout = w
	go func() { _, _ = r.Read(make([]byte, 3)); cancel() }()
	u, err := Measure(ctx, cmd, Options{})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if !errors.As(u.Exit, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM || u.CPU <= 0 {
		t.Errorf("it ended %v after %v", u.Exit, u.CPU)
	}
	noneLeft(t, cmd.Process.Pid)
}

func TestACommandThatIsNotThereLeavesNothing(t *testing.T) {
	mustWork(t)
	for _, o := range []Options{{}, {Placement: Placement{Netns: "weir-no-such"}}, {Placement: Placement{CPUs: []int{1000}}}} {
		if _, err := Measure(context.Background(), exec.Command("/nonexistent/server"), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	noneLeft(t)
}

func TestThePlacementHoldsFromTheFirstInstruction(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		cmd := exec.Command("sh", "-c", "grep Cpus_allowed_list /proc/$$/status; cat /proc/$$/cgroup")
		var out lines
		cmd.Stdout = &out
		if err := g.Start(cmd, Placement{CPUs: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "Cpus_allowed_list:\t0\n") {
			t.Errorf("not on core 0: %s", out)
		}
		if c, ok := g.account.(*cgroup); ok && !strings.Contains(string(out), filepath.Base(c.dir)) {
			t.Errorf("not in %s: %s", c.dir, out)
		}
	})
}
