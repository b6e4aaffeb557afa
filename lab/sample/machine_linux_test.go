package sample

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMachineUsesAtLeastAsMuchAsAGroup(t *testing.T) {
	g, err := NewGroup("machine")
	if err != nil {
		t.Skip(err)
	}
	defer g.Close()
	before, err := ReadMachine()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out := startProgram(t, g, Placement{}, "burn 300")
	_, truth := sumLines(out)
	_ = cmd.Wait()
	emptyCPU(t, g)
	after, err := ReadMachine()
	if err != nil {
		t.Fatal(err)
	}
	used := after.CPU - before.CPU
	t.Logf("%s: %v in %v, a group %v", MachineMethod().Name, used, after.At-before.At, truth)
	if after.Exact && used < truth*99/100 {
		t.Errorf("got %v for the machine, want at least the %v of one group on it", used, truth)
	}
	if after.Steal < before.Steal || after.Stalled < before.Stalled {
		t.Errorf("got %+v, then %+v, want increasing counters", before, after)
	}
}

func TestNeighboursAreNamed(t *testing.T) {
	before, err := ReadMachine()
	if err != nil {
		t.Fatal(err)
	}
	burnMore(300 * time.Millisecond)
	after, err := ReadMachine()
	if err != nil {
		t.Fatal(err)
	}
	isMe := func(n Neighbour) bool { return n.PID == os.Getpid() }
	ns := Neighbours(before, after, func(int) bool { return false })
	i := slices.IndexFunc(ns, isMe)
	if i < 0 || ns[i].Name == "" || ns[i].CPU < 300*time.Millisecond {
		t.Errorf("this process used 300 ms: got neighbours %+v, want it among them with its name", ns)
	}
	ns = Neighbours(before, after, func(pid int) bool { return pid == os.Getpid() })
	if slices.ContainsFunc(ns, isMe) {
		t.Error("got a process of ours as a neighbour, want only others")
	}
}

func burnMore(d time.Duration) {
	own, _ := processClock(os.Getpid())
	burn(own + d)
}

func TestMachineCountersAreParsed(t *testing.T) {
	busy, steal := parseMachineStat("cpu  100 2 30 9999 888 4 5 6 0 0\ncpu0 1 1 1 1\n")
	if busy != 141*tick || steal != 6*tick {
		t.Errorf("got busy %v, steal %v; want %v, %v", busy, steal, 141*tick, 6*tick)
	}
	stalled := parsePressure("some avg10=2.34 avg60=1.21 avg300=0.89 total=8747081\nfull avg10=0.00 total=7\n")
	if stalled != 8747081*time.Microsecond {
		t.Errorf("got stalled %v, want %v", stalled, 8747081*time.Microsecond)
	}
	if got, err := parseCPUStat([]byte("usage_usec 56281231\nuser_usec 1\n")); err != nil || got != 56281231*time.Microsecond {
		t.Errorf("cpu.stat: got %v, error %v; want %v", got, err, 56281231*time.Microsecond)
	}
	for _, bad := range []string{"", "user_usec 1\n", "usage_usec -1\n", "usage_usec x\n", "usage_usec 9223372036854775807\n"} {
		if got, err := parseCPUStat([]byte(bad)); err == nil {
			t.Errorf("cpu.stat %q: got %v, want an error", bad, got)
		}
	}
}

func TestHierarchiesAreFound(t *testing.T) {
	const mounts = "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:11 - cgroup cgroup rw,cpu,cpuacct\n" +
		"31 24 0:27 /docker/ab /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for controller, want := range map[string][2]string{"cpuacct": {"/", "/sys/fs/cgroup/cpu,cpuacct"}, "": {"/docker/ab", "/sys/fs/cgroup/unified"}} {
		if root, mount, ok := cgroupMount(mounts, controller); !ok || [2]string{root, mount} != want {
			t.Errorf("%q: got %q %q, present: %t; want %q", controller, root, mount, ok, want)
		}
	}
	if _, _, ok := cgroupMount(mounts, "memory"); ok {
		t.Error("got a hierarchy for memory, which is not mounted; want none")
	}
	const own = "2:cpu,cpuacct:/user.slice\n0::/docker/ab/x\n"
	if got := cgroupPath(own, "cpuacct") + cgroupPath(own, "") + cgroupPath(own, "pids"); got != "/user.slice/docker/ab/x/" {
		t.Errorf("own cgroups: got %q, want %q", got, "/user.slice/docker/ab/x/")
	}
}

func FuzzStat(f *testing.F) {
	own, _ := os.ReadFile("/proc/self/stat")
	f.Add(string(own))
	f.Add("1 (a) b) (c) S 0 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 99 0")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := parseStat(text)
		if ok && !strings.Contains(text, "("+s.name+")") {
			t.Errorf("%q: got the name %q, want one that the text has in parentheses", text, s.name)
		}
	})
}

func FuzzMachineFiles(f *testing.F) {
	f.Add("cpu  100 2 30 9999 888 4 5 6 0 0")
	f.Add("some avg10=2.34 avg60=1.21 avg300=0.89 total=8747081")
	f.Fuzz(func(t *testing.T, text string) {
		parseMachineStat(text)
		parsePressure(text)
		cgroupMount(text, "cpuacct")
		cgroupPath(text, "")
		if cpu, err := parseCPUStat([]byte(text)); err == nil && cpu < 0 {
			t.Errorf("%q: got the CPU time %v, want none below 0", text, cpu)
		}
	})
}
