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

// mustWork skips the test if process trees cannot be accounted for on this machine.
func mustWork(t *testing.T) {
	if _, err := firstWorking(); err != nil {
		t.Skip(err)
	}
}

// noneLeft checks that no group of this process is left, and none of the processes.
func noneLeft(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if s, ok := readStat(pid); ok && s.state != 'Z' {
			t.Errorf("got process %d (%s) left behind, want none", pid, s.name)
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
				t.Errorf("got cgroups left behind: %v, want none", left)
			}
		}
	}
}

func TestCommandIsMeasuredUntilItsExit(t *testing.T) {
	mustWork(t)
	cmd := exec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done; exit 3")
	u, err := Measure(context.Background(), cmd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if !errors.As(u.ExitError, &exit) || exit.ExitCode() != 3 || !u.ExitedByItself || u.KilledProcesses != 0 {
		t.Errorf("got exit %v, by itself %t, %d killed; want status 3, true, 0", u.ExitError, u.ExitedByItself, u.KilledProcesses)
	}
	if ratio := float64(u.CPU) / float64(u.Waited); ratio < 0.97 || ratio > 1.03 {
		t.Errorf("got CPU %v, want the %v that the command waited for, give or take 3 %%", u.CPU, u.Waited)
	}
	if u.Wall <= 0 || u.Peak.Processes < 1 || len(u.Points) < 2 || u.Method.Name == "" {
		t.Errorf("got incomplete usage %+v, want wall time, a peak of a process or more, two points or more, and a method", u)
	}
	noneLeft(t)
}

func TestCommandThatIgnoresSIGTERMIsKilled(t *testing.T) {
	mustWork(t)
	u, err := Measure(context.Background(), exec.Command("sh", "-c", "trap '' TERM; sleep 1000"), Options{Duration: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if u.ExitedByItself || u.KilledProcesses == 0 {
		t.Errorf("got exit by itself %t, %d killed; want false, and at least one killed", u.ExitedByItself, u.KilledProcesses)
	}
	noneLeft(t)
}

func TestBackgroundProcessIsFollowedAndStopped(t *testing.T) {
	mustWork(t)
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", "setsid sh -c 'echo $$ > "+file+"; i=0; while :; do i=$((i+1)); done' & exit 0")
	u, err := Measure(context.Background(), cmd, Options{Duration: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if !u.ExitedByItself || u.ExitError != nil || pid == 0 {
		t.Errorf("got exit by itself %t, error %v, pid %d; want true without an error, and the background process's ID", u.ExitedByItself, u.ExitError, pid)
	}
	if u.Waited > u.CPU/2 {
		t.Errorf("got CPU %v, of which %v were waited for, want the background process counted", u.CPU, u.Waited)
	}
	noneLeft(t, pid)
}

func TestInterruptStopsTheCommandAndKeepsTheFigures(t *testing.T) {
	mustWork(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", "for i in $(seq 5000); do :; done; echo up; exec sleep 1000")
	cmd.Stdout = w
	go func() { _, _ = r.Read(make([]byte, 3)); cancel() }()
	u, err := Measure(ctx, cmd, Options{})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if !errors.As(u.ExitError, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM || u.CPU <= 0 {
		t.Errorf("got exit %v after %v of CPU, want SIGTERM and the CPU time until then", u.ExitError, u.CPU)
	}
	noneLeft(t, cmd.Process.Pid)
}

func TestMissingCommandLeavesNothing(t *testing.T) {
	mustWork(t)
	for _, o := range []Options{{}, {Placement: Placement{Netns: "weir-no-such"}}, {Placement: Placement{CPUs: []int{1000}}}} {
		if _, err := Measure(context.Background(), exec.Command("/nonexistent/server"), o); err == nil {
			t.Errorf("%+v: got no error, want one", o)
		}
	}
	noneLeft(t)
}

func TestPlacementAppliesFromTheFirstInstruction(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
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
			t.Errorf("got cores %s, want core 0", out)
		}
		if c, ok := g.account.(*cgroup); ok && !strings.Contains(string(out), filepath.Base(c.dir)) {
			t.Errorf("got cgroups %[2]s, want %[1]s", c.dir, out)
		}
	})
}
