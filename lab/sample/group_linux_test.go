package sample

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.dir), "weir-*"))
		for _, l := range left {
			if strings.Contains(l, groupNumber(c.dir)) {
				t.Errorf("%s is left", l)
			}
		}
	})
}

func groupNumber(dir string) string { return filepath.Base(dir) }
