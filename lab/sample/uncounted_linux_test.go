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

// startPrinting starts a shell in the group, and returns the first line that it prints. The shell
// ends with the test.
func startPrinting(t *testing.T, g *Group, script string) string {
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

// loop is a shell script that computes for some milliseconds.
const loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"

func TestChildrenNotWaitedForAreCountedOrReported(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
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
				t.Fatalf("a parent that ignores SIGCHLD: got warning %q, want none only for a cgroup", missed)
			}
		}
	})
}

func TestCommandWithWaitedChildrenHasNoWarning(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		startPrinting(t, g, "sh -c '"+loop+"'; echo done; read line")
		if _, err := g.CPU(); err != nil {
			t.Fatal(err)
		}
		if missed := g.Uncounted(); missed != "" && methodOf(t).countsExited {
			t.Errorf("got warning %q, want none", missed)
		}
	})
}

func TestDaemonWithClearedEnvironmentIsCounted(t *testing.T) {
	eachMethod(t, func(t *testing.T, g *Group) {
		if !methodOf(t).countsExited {
			t.Skip("without a subreaper its group is not known, and there is a warning")
		}
		pid, _ := strconv.Atoi(startPrinting(t, g, "(setsid env -i sh -c 'echo $$; while :; do :; done' &); read line"))
		if pids, err := g.PIDs(); err != nil || !slices.Contains(pids, pid) {
			t.Errorf("got members %v (%v), want them to include the daemon %d", pids, err, pid)
		}
	})
}

func TestMeasurementReportsUncountedCPU(t *testing.T) {
	mustWork(t)
	for _, w := range methods {
		if w.name != "subreaper" {
			continue
		}
		g, err := newGroup("missed", w.open)
		if err != nil {
			t.Skip(err)
		}
		u, err := measureIn(context.Background(), g, programCommand("ignored 1 300"), Options{})
		if err != nil || u.UncountedCPU == "" {
			t.Errorf("got warning %q (%v), want one", u.UncountedCPU, err)
		}
	}
}
