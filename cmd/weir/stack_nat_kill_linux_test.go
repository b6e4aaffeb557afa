package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startSleeper starts a process in a network namespace of its own, until the test ends.
func startSleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	guest := exec.Command("unshare", "-n", "sleep", "60")
	if err := guest.Start(); err != nil {
		t.Skipf("unshare is not installed: %v", err)
	}
	t.Cleanup(func() { guest.Process.Kill(); guest.Wait() }) //nolint:errcheck // it may have ended
	waitFor(t, "the namespace is there", func() bool {
		own, _ := os.Readlink("/proc/self/ns/net")
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", guest.Process.Pid))
		return err == nil && its != own
	})
	return guest
}

// A kill -9 of the network ends its program, too, which would be left without one.
func TestAKilledNetworkLeavesNoProgram(t *testing.T) {
	for _, by := range [][]string{{"nat"}, {"socks", "127.0.0.1:1"}} {
		c := natCommand(t, append(by, "sh", "-c", "echo $$ >&2; exec sleep 60")...)
		said := startSaying(t, c, "\n")
		pid := 0
		fmt.Sscan(said.String(), &pid) //nolint:errcheck // 0 is checked
		if pid <= 0 {
			t.Fatalf("%v: got %q, want the number of the program", by, said)
		}
		c.Process.Kill() //nolint:errcheck // Wait shows it
		c.Wait()         //nolint:errcheck // it was killed
		waitFor(t, "the program has ended", func() bool {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty for a zombie
			return err != nil || len(line) == 0
		})
	}
}

// The network of a process ends when the process is killed, and with an error when its device is
// deleted. The next one starts.
func TestANetworkEndsWithItsGuest(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(guest *exec.Cmd) error
		says   string
		status int
	}{
		{"kill -9 of the process", func(g *exec.Cmd) error { return g.Process.Kill() }, "has ended", 0},
		{"deleting the device", func(g *exec.Cmd) error {
			return exec.Command("nsenter", "--net", "--target", fmt.Sprint(g.Process.Pid), "ip", "link", "del", "weir0").Run()
		}, "the device of the guest is gone", exitFailed},
	} {
		guest := startSleeper(t)
		for range 2 {
			n := natCommand(t, "nat", "--pid", fmt.Sprint(guest.Process.Pid))
			startSaying(t, n, "the network is there")
			n.Process.Kill() //nolint:errcheck // Wait shows it
			n.Wait()         //nolint:errcheck // it was killed; the next one starts
		}
		n := natCommand(t, "nat", "--pid", fmt.Sprint(guest.Process.Pid))
		said := startSaying(t, n, "the network is there")
		if err := c.end(guest); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		n.Wait() //nolint:errcheck // its status is checked
		if got := n.ProcessState.ExitCode(); got != c.status || !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: got status %d and %q, want %d and %q", c.name, got, said, c.status, c.says)
		}
	}
}
