package sample

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startTelling starts a shell under the group, and returns the first line that it prints. The shell
// ends with the test.
func startTelling(t *testing.T, g *Group, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := g.Start(cmd, Placement{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// loop is a shell's work of some milliseconds.
const loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"

func TestWhatNobodyWaitedForIsCountedOrWarnedOf(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		cmd, _ := startProgram(t, g, Placement{}, "ignored 1 100000")
		defer func() { _, _ = g.Close(), cmd.Wait() }()
		_, exact := g.account.(*cgroup)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := g.CPU(); err != nil {
				t.Fatal(err)
			}
			missed := g.Uncounted()
			if exact && missed == "" || !exact && strings.Contains(missed, "Delegate") {
				return
			}
			if exact || time.Now().After(deadline) {
				t.Fatalf("a parent that ignores SIGCHLD: the warning is %q, want none only of a cgroup", missed)
			}
		}
	})
}

func TestACommandWhoseChildrenAreWaitedForHasNoWarning(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		startTelling(t, g, "sh -c '"+loop+"'; echo done; read line")
		if _, err := g.CPU(); err != nil {
			t.Fatal(err)
		}
		if missed := g.Uncounted(); missed != "" && wayOf(t).exited {
			t.Errorf("the warning is %q, want none", missed)
		}
	})
}

func TestADaemonThatForkedTwiceAndClearedItsEnvironmentIsCounted(t *testing.T) {
	eachWay(t, func(t *testing.T, g *Group) {
		if !wayOf(t).exited {
			t.Skip("without a subreaper nobody knows whose it is; the warning says so")
		}
		pid, _ := strconv.Atoi(startTelling(t, g, "(setsid env -i sh -c 'echo $$; while :; do :; done' &); read line"))
		if pids, err := g.PIDs(); err != nil || !slices.Contains(pids, pid) {
			t.Errorf("the members are %v (%v), want the daemon %d among them", pids, err, pid)
		}
	})
}

func TestAMeasurementSaysWhatItMissed(t *testing.T) {
	mustWork(t)
	for _, w := range ways {
		if w.name != "subreaper" {
			continue
		}
		g, err := newGroup("missed", w.open)
		if err != nil {
			t.Skip(err)
		}
		u, err := measureIn(context.Background(), g, programCommand("ignored 1 300"), Options{})
		if err != nil || u.Missed == "" {
			t.Errorf("the warning is %q (%v), want one", u.Missed, err)
		}
	}
}
